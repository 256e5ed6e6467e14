// Runs of subagents for their parents: list them, steer one, end one.
import type { Committed } from '../after-commit.ts';
import type { MessageId, SessionId, SessionKey } from '../core/ids.ts';
import type { QueueModes } from '../core/run-end.ts';
import type { InputOptions } from '../core/input-options.ts';
import type { RunStatus } from '../core/announcement.ts';
import { chargedBodySql } from './charged-inputs.ts';
import type { Database } from './database.ts';
import { insertEventsSql } from './events.ts';
import { keyedPart, keyValues, type KeyedRequest } from './idempotency.ts';
import { readLastOutput } from './last-output.ts';
import { ARRIVED_SQL, PUT_PARTS, PUT_EVENTS_SQL, rungForPart } from './put-inputs.ts';
import { sendQuery } from './send-query.ts';
import { afterOf, type RungColumns } from './rings.ts';
import { literal } from './statement.ts';
import { stopFamily, type FamilyStopResult } from './stop-family.ts';

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

export const FIND_RUN = literal({
  name: 'find-run',
  purpose: 'Read a run.',
  text: `select ${FACTS} from ${FROM} where r.id = $1`,
});

/** One run; null: it does not exist. */
export async function findRun(database: Database, runId: string): Promise<RunFacts | null> {
  const [run] = await sendQuery<RunFacts>(database.hot, FIND_RUN.prepared([runId]));
  return run ?? null;
}

export const RECENT_RUNS = literal({
  name: 'recent-runs',
  purpose: 'Read the runs of a session that work, or have ended lately, the oldest first.',
  text: `select * from (
  select ${FACTS} from ${FROM}
  where r.parent_id = (select s.id from holdfast.sessions s where s.key = $1)
    and (r.status = 'running' or r.ended_at > clock_timestamp() - $2::int * interval '1 minute')
  order by r.id desc limit ${RUNS_MAX}
) as newest order by "runId"`,
});

/** The runs that a session has spawned and that work, or have ended within the last minutes; the oldest first. */
export async function listRecentRuns(
  database: Database,
  { parentKey, recentMinutes }: { parentKey: string; recentMinutes: number },
): Promise<RunFacts[]> {
  return sendQuery<RunFacts>(database.hot, RECENT_RUNS.prepared([parentKey, recentMinutes]));
}

export interface RunKill {
  runId: string;
  /** The runs below it continue; their ends are announced above it. */
  keepsBelow?: boolean;
  reason: string;
  /** Its recipient requests this. */
  isTold: boolean;
  modes: QueueModes;
  idempotency?: KeyedRequest | null;
}

/** Ends a run and, unless they are kept, all runs below it. Null: there is no run with this id. */
export async function killRun(database: Database, kill: RunKill): Promise<Committed<FamilyStopResult> | null> {
  const { runId, keepsBelow = false, reason, isTold, modes, idempotency = null } = kill;
  const run = await findRun(database, runId);
  if (run === null) return null;
  // A key is stored also where there is nothing left to be ended.
  if (run.status !== 'running' && idempotency === null) return { kind: 'ended' };
  const result = await readLastOutput(database, run.childId);
  const sessionId = run.childId;
  return stopFamily(database, {
    sessionId,
    keepsQueued: false,
    keepsBelow,
    reason,
    runId,
    status: 'killed',
    result,
    isTold,
    modes,
    idempotency,
  });
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

export const STEER_RUN = literal({
  name: 'steer-run',
  purpose: 'Put a message into the inbox of a subagent that works.',
  locking: "The row of the subagent's session, so the run cannot end around it.",
  text: `with locked as materialized (
  select s.*, s.turn_id is not null or s.owner is not null and s.lease_expires_at > clock_timestamp() as is_busy
  from holdfast.sessions s where s.id = (select r.child_id from holdfast.subagent_runs r where r.id = $1::uuid) for no key update
),
earlier as materialized (
  select i.session_id from holdfast.inbox i where i.id = $2::uuid or i.cause_key = $5::text
),
incoming as materialized (
  select $2::uuid as id, l.id as session_id, 'message' as kind, ${chargedBodySql('$3::json', 'run.charged_to')} as body, $4::text as route, 'steer' as mode, $5::text as cause_key,
    'waiting' as status, case when l.is_busy then 'steered' else 'queued' end as disposition, null::json as error
  from locked l join holdfast.subagent_runs run on run.id = l.run_id where l.run_id = $1::uuid
),
${PUT_PARTS.join(',\n')},
updated_sessions as (
  update holdfast.sessions s set waiting = s.waiting + arrived.waiting, ${ARRIVED_SQL}, updated_at = clock_timestamp()
  from arrived where s.id = arrived.session_id
  returning s.*
),
${rungForPart('updated_sessions', 'true')},
inserted_events as (${insertEventsSql(PUT_EVENTS_SQL)}),
${keyedPart(6, `select json_build_object('messageId', inserted_inputs.id, 'isBusy', inserted_inputs.disposition = 'steered') from inserted_inputs`)}
select l.id as session_id, l.is_busy, exists (select from inserted_inputs) or exists (select from earlier) as is_put, arrival_doorbells.lane, arrival_doorbells.rings
from locked l left join arrival_doorbells on true`,
});

/** Says one more thing to a subagent that works: it joins its turn, or wakes it. Idempotent on its cause. */
export async function steerRun(database: Database, steer: Steer): Promise<Committed<SteerResult>> {
  const values = [
    steer.runId,
    steer.messageId,
    steer.body,
    steer.route,
    steer.causeKey,
    ...keyValues(steer.idempotency),
  ];
  const [row] = await sendQuery<SteerRow>(database.hot, STEER_RUN.prepared(values));
  if (row === undefined || !row.is_put) return { kind: 'ended' };
  return { kind: 'steered', isBusy: row.is_busy, after: afterOf('inbound', row.session_id, row) };
}

interface SteerRow extends RungColumns {
  session_id: SessionId;
  is_busy: boolean;
  is_put: boolean;
}
