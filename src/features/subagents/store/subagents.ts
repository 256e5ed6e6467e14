// Runs of subagents for their parents: list them, steer one, end one. The tools of agents read
// sessions by it, too.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { MessageId, SessionId, SessionKey } from '../../../core/ids.ts';
import type { InputOptions } from '../../../core/input-options.ts';
import type { RunStatus } from '../../../core/subagents.ts';
import type { Database } from '../../../database/database.ts';
import type { KeyedRequest } from '../../../database/idempotency.ts';
import { chargedBody, putInputs, type PutInput } from '../../../kernel/inbox/put-inputs.ts';
import { abortRun, type RunAbort } from '../../../kernel/effects/control.ts';
import type { FamilyStopResult } from '../../../kernel/effects/stop-family.ts';
import type { EffectParts } from '../../../kernel/effects/turn-effects.ts';
import { transaction } from '../../../database/transaction.ts';
import type { ContentBlock } from '../../../core/content.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** A run as its parent sees it. */
export interface RunFacts {
  runId: string;
  childId: SessionId;
  childKey: SessionKey;
  parentId: SessionId;
  parentKey: SessionKey;
  label: string | null;
  task: string;
  status: 'running' | RunStatus;
  mode: 'run' | 'session';
  cleanup: 'keep' | 'delete';
  /** Where the answer to its announcement goes; null: where the configuration says, or nowhere. */
  deliver: { url: string } | null;
  /** True: nowhere. */
  isUndelivered: boolean;
  /** Of its turns. */
  options: InputOptions;
  error: string | null;
  /** Milliseconds since the epoch. */
  createdAt: number;
  endedAt: number | null;
}

const RUNS_MAX = 200;

const FACTS = `r.id as "runId", c.id as "childId", c.key as "childKey", p.id as "parentId", p.key as "parentKey", r.label, r.task, r.status,
  r.mode, r.cleanup, r.deliver, coalesce(json_typeof(r.deliver) = 'null', false) as "isUndelivered",
  coalesce((select i.body -> 'options' from holdfast.inbox i where i.cause_key = 'spawn:' || r.id), '{}') as options, r.error, (extract(epoch from r.created_at) * 1000)::float8 as "createdAt",
  (extract(epoch from r.ended_at) * 1000)::float8 as "endedAt"`;

const FROM = `holdfast.subagent_runs r join holdfast.sessions c on c.id = r.child_id join holdfast.sessions p on p.id = r.parent_id`;

export const findRun = literalQuery({
  name: 'find-run',
  purpose: 'Read a run; null: it does not exist.',
  text: `select ${FACTS} from ${FROM} where r.id = $1`,
  values: (runId: string) => [runId],
  answer: ([run]: RunFacts[]) => run ?? null,
});

export const listRecentRuns = literalQuery({
  name: 'recent-runs',
  purpose:
    'Read the runs that a session has spawned and that work, or have ended within the last minutes, the oldest first.',
  text: `select * from (
  select ${FACTS} from ${FROM}
  where r.parent_id = (select s.id from holdfast.sessions s where s.key = $1)
    and (r.status = 'running' or r.ended_at > clock_timestamp() - $2::int * interval '1 minute')
  order by r.id desc limit ${RUNS_MAX}
) as newest order by "runId"`,
  values: ({ parentKey, recentMinutes }: { parentKey: string; recentMinutes: number }) => [parentKey, recentMinutes],
  answer: (runs: RunFacts[]) => runs,
});

export type RunKill = Omit<RunAbort, 'sessionId' | 'status'>;

/** Ends a run and, unless they are kept, all runs below it. Null: there is no run with this id. */
export async function killRun(parts: EffectParts, kill: RunKill): Promise<Committed<FamilyStopResult> | null> {
  const run = await findRun(parts.database, kill.runId);
  if (run === null) return null;
  // A key is stored also where there is nothing left to be ended.
  if (run.status !== 'running' && (kill.idempotency ?? null) === null) return { kind: 'ended' };
  return abortRun(parts, { ...kill, sessionId: run.childId });
}

export interface Steer {
  runId: string;
  messageId: MessageId;
  /** As JSON text. */
  body: string;
  route: string;
  /** Its cause; null: each call inserts another one. */
  causeKey: string | null;
  idempotency?: KeyedRequest | null | undefined;
}

/** `ended`: the run has ended, and nothing was written. */
export type SteerResult = { kind: 'steered'; isBusy: boolean } | { kind: 'ended' };

export const lockSteeredRun = literalQuery({
  name: 'steered-run',
  purpose:
    'Lock the session of a subagent, so the run cannot end. Answers whether it works on the run, and whether the message was put in before.',
  locking: "The session's row.",
  text: `select s.id as "sessionId", s.run_id = run.id as "isWorking", run.charged_to::text as "chargedTo",
  s.turn_id is not null or s.owner is not null and s.lease_expires_at > clock_timestamp() as "isBusy",
  exists (select from holdfast.inbox i where i.id = $2::uuid or i.cause_key = $3::text) as "isPut"
from holdfast.subagent_runs run join holdfast.sessions s on s.id = run.child_id where run.id = $1
for no key update of s`,
  values: ({ runId, messageId, causeKey }: Steer) => [runId, messageId, causeKey],
  answer: ([run]: SteeredRun[]) => run ?? null,
});

interface SteeredRun {
  sessionId: SessionId;
  isWorking: boolean | null;
  isBusy: boolean;
  isPut: boolean;
  chargedTo: string | null;
}

/**
 * Says one more thing to a subagent that works: it joins its turn, or wakes it. Idempotent on its
 * cause.
 */
export async function steerRun(database: Database, steer: Steer): Promise<Committed<SteerResult>> {
  const { messageId, causeKey, body, route, idempotency = null } = steer;
  return transaction<Committed<SteerResult>>(database.hot, async (tx) => {
    const run = await lockSteeredRun(tx, steer);
    const { isBusy, isPut } = run ?? { isBusy: false, isPut: false };
    if (isPut) return { kind: 'steered', isBusy };
    if (run?.isWorking !== true) return { kind: 'ended' };
    const input: PutInput = {
      id: messageId,
      sessionId: run.sessionId,
      kind: 'message',
      body: chargedBody(body, run.chargedTo),
      route,
      mode: 'steer',
      causeKey,
      steers: isBusy,
    };
    const keyed = { request: idempotency, result: { messageId, isBusy } };
    const put = putInputs(tx, { inputs: [input], keyed });
    return async () => ({ kind: 'steered', isBusy, after: (await put).after });
  });
}

// What the tools of agents read of sessions: the list of sessions and their entries. Plain reads;
// the caller decides which sessions are visible.

/** A session as the tools know it. */
export interface ListedSession {
  id: SessionId;
  key: SessionKey;
  agentId: string;
  kind: string;
  label: string | null;
  status: 'idle' | 'waiting' | 'running';
  ancestors: SessionId[];
  /** The run that it works on as a subagent; null: none. */
  runId: string | null;
  contextTokens: number;
  /** Milliseconds since the epoch. */
  updatedAt: number;
}

/** The largest number of sessions that a list reads. */
const LISTED_MAX = 1_000;
const ENTRIES_MAX = 400;

const COLUMNS = `s.id, s.key, s.agent_id as "agentId", s.kind, s.label, s.ancestors, s.run_id as "runId",
  s.context_tokens::float8 as "contextTokens", (extract(epoch from s.updated_at) * 1000)::float8 as "updatedAt",
  case when s.turn_id is not null then 'running' when s.waiting > 0 then 'waiting' else 'idle' end as status`;

export const findListed = literalQuery({
  name: 'find-listed',
  purpose: 'Read the session of a key; null: it does not exist.',
  pool: 'views',
  text: `select ${COLUMNS} from holdfast.sessions s where s.key = $1`,
  values: (key: string) => [key],
  answer: ([session]: ListedSession[]) => session ?? null,
});

export const listTree = literalQuery({
  name: 'list-tree',
  purpose: 'Read a session and all sessions below it, newest first. Archived ones are left out.',
  pool: 'views',
  text: `with recursive tree as (
  select $1::uuid as id union select r.child_id from tree join holdfast.subagent_runs r on r.parent_id = tree.id
)
select ${COLUMNS} from tree join holdfast.sessions s on s.id = tree.id where s.archived_at is null order by s.id desc limit ${LISTED_MAX}`,
  values: (id: SessionId) => [id],
  answer: (sessions: ListedSession[]) => sessions,
});

export const listAgentSessions = literalQuery({
  name: 'list-sessions',
  purpose: 'Read the newest sessions, of one agent or of all. Archived ones are left out.',
  pool: 'views',
  text: `select ${COLUMNS} from holdfast.sessions s
where ($1::text is null or s.agent_id = $1) and s.archived_at is null order by s.id desc limit ${LISTED_MAX}`,
  values: (agentId: string | null) => [agentId],
  answer: (sessions: ListedSession[]) => sessions,
});

export const readEntries = literalQuery({
  name: 'read-entries',
  purpose: 'Read the newest entries that a session shows, oldest first.',
  pool: 'views',
  text: `select role, content from (
  select e.seq, e.role, e.content from holdfast.entries e join holdfast.sessions s on s.id = e.session_id
  where e.session_id = $1 and e.transcript_no = s.transcript_no and e.state = 'active' order by e.seq desc limit ${ENTRIES_MAX}
) as newest order by seq`,
  values: (sessionId: SessionId) => [sessionId],
  answer: (entries: { role: 'user' | 'assistant'; content: ContentBlock[] }[]) => entries,
});
