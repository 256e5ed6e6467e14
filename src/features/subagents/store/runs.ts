// Runs of subagents for their parents: list them, steer one.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { MessageId, SessionId, SessionKey } from '../../../core/ids.ts';
import type { InputOptions } from '../../../core/input-options.ts';
import type { RunStatus } from '../../../core/subagents.ts';
import type { Database } from '../../../database/database.ts';
import type { KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { transaction } from '../../../database/transaction.ts';
import { chargedBody, putInputs } from '../../../kernel/inbox/put-inputs.ts';

/** A run as its parent sees it. */
export interface RunFacts {
  runId: string;
  childId: SessionId;
  childKey: SessionKey;
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
  /** The options of its turns. */
  options: InputOptions;
  error: string | null;
  runtimeSeconds: number;
}

const RUNS_MAX = 200;

const RUNS = `select r.id as "runId", c.id as "childId", c.key as "childKey", p.key as "parentKey", r.label, r.task, r.status,
  r.mode, r.cleanup, r.deliver, coalesce(json_typeof(r.deliver) = 'null', false) as "isUndelivered",
  coalesce((select i.body -> 'options' from holdfast.inbox i where i.cause_key = 'spawn:' || r.id), '{}') as options, r.error,
  greatest(0, round(extract(epoch from coalesce(r.ended_at, clock_timestamp()) - r.created_at)))::int as "runtimeSeconds"
  from holdfast.subagent_runs r join holdfast.sessions c on c.id = r.child_id join holdfast.sessions p on p.id = r.parent_id`;

export const findRun = literalQuery({
  name: 'find-run',
  purpose: 'Read a run; null: it does not exist.',
  text: `${RUNS} where r.id = $1`,
  values: (runId: string) => [runId],
  answer: ([run]: RunFacts[]) => run ?? null,
});

export const listRecentRuns = literalQuery({
  name: 'recent-runs',
  purpose:
    'Read the runs that a session has spawned and that work, or have ended within the last minutes, the oldest first.',
  text: `select * from (
  ${RUNS}
  where r.parent_id = (select s.id from holdfast.sessions s where s.key = $1)
    and (r.status = 'running' or r.ended_at > clock_timestamp() - $2::int * interval '1 minute')
  order by r.id desc limit ${RUNS_MAX}
) as newest order by "runId"`,
  values: (parentKey: string, recentMinutes: number) => [parentKey, recentMinutes],
  answer: (runs: RunFacts[]) => runs,
});

export interface Steer {
  runId: string;
  messageId: MessageId;
  /** JSON text. */
  body: string;
  route: string;
  /** Its cause; null: each call inserts another one. */
  causeKey: string | null;
  idempotency?: KeyedRequest | null;
}

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
 * cause. `ended`: the run has ended, and nothing was written.
 */
export async function steerRun(
  database: Database,
  steer: Steer,
): Promise<Committed<{ kind: 'steered'; isBusy: boolean } | { kind: 'ended' }>> {
  const { messageId, causeKey, route, idempotency = null } = steer;
  return transaction(database.hot, async (tx) => {
    const run = await lockSteeredRun(tx, steer);
    if (run?.isPut === true) return { kind: 'steered', isBusy: run.isBusy };
    if (run?.isWorking !== true) return { kind: 'ended' };
    const { sessionId, isBusy } = run;
    const body = chargedBody(steer.body, run.chargedTo);
    const input = { id: messageId, sessionId, kind: 'message' as const, body, route, causeKey };
    const put = putInputs(tx, {
      inputs: [{ ...input, mode: 'steer', steers: isBusy }],
      keyed: { request: idempotency, result: { messageId, isBusy } },
    });
    return async () => ({ kind: 'steered', isBusy, after: (await put).after });
  });
}
