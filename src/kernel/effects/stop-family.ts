// Stops a session and all sessions below it, in one transaction: running turns receive a stop
// signal, and waiting messages are cancelled. The feature that has spawned the runs ends them in
// it, and tells the session above. The abort of a session, the kill of a subagent and the deadline
// of its run use it (G18, G24). A kill can also stop one run alone: the runs below it continue, and
// their ends are announced to the nearest session above it that is still active, as after any other
// end of the run.
//
// Locking: the rows of the session and of all sessions above it, in the order of their ids; then
// those of the working sessions below it. A spawn locks the row at the top of its family, so from
// then on nothing is spawned below it, and the second statement finds every run. A session below
// has a later id than those above, unless the clocks of processes differ: then two transactions may
// wait for each other, PostgreSQL ends one of them, and it is made again.
import type { Committed } from '../queue/after-commit.ts';
import type { RunStatus } from '../../core/subagents.ts';
import type { SessionId, TurnId } from '../../core/ids.ts';
import type { FamilyState } from '../rules/family.ts';
import { needStored, putCommand, type NewCommand } from '../inbox/commands.ts';
import { NOTHING, type EffectParts } from './turn-effects.ts';
import { FAMILY_SQL, RUN_SQL, type RunRow } from '../sessions/family-rows.ts';
import { insertEventsSql } from '../events/events.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { literalQuery } from '../../database/literal-query.ts';
import { putInputs, type NotNeeded } from '../inbox/put-inputs.ts';
import { TURN_RETRY_MS } from '../../database/passing-faults.ts';
import { mergeAll, buildRings, type RungColumns, wakeSql } from '../queue/rings.ts';
import { cte, statement } from '../../database/statement.ts';
import { transaction, type Committing, type Transaction } from '../../database/transaction.ts';

export interface FamilyStop {
  sessionId: SessionId;
  /**
   * Keeps the waiting messages of the session itself; its own run then ends only if it has no other
   * work.
   */
  keepsQueued: boolean;
  /** The runs below it continue. */
  keepsBelow?: boolean;
  /** For people. */
  reason: string;
  /** The run to stop: nothing happens when the session no longer works on it. Absent: any work. */
  runId?: string;
  /** How the session's own run ends, and its last text. */
  status: Extract<RunStatus, 'killed' | 'timedOut' | 'failed'>;
  result: string | null;
  /** True when the session that would be notified has requested the end itself. */
  isOwn: boolean;
  /** The key of the request that stops it. */
  idempotency?: KeyedRequest | null;
  /**
   * The chat command that stops it, which becomes a row of the session's inbox: it acts only on
   * messages accepted before it.
   */
  command?: StopCommand;
}

/** Its reply lists what was stopped. */
export type StopCommand = Omit<NewCommand, 'reply'>;

/**
 * `stopped`: `runs` counts the runs that ended, the session's own among them. `ended`: it was not
 * working on that run any more.
 */
export type FamilyStopResult =
  | { kind: 'stopped'; aborted: TurnId | null; cancelled: number; runs: number }
  | { kind: 'ended' };

const BELOW_SQL = `holdfast.sessions self
  join holdfast.subagent_runs run on run.root_id = coalesce(self.ancestors[1], self.id) and run.status = 'running'
  join holdfast.sessions s on s.id = run.child_id
  where self.id = $1 and (s.id = self.id or s.ancestors @> array[self.id] and not $2::boolean)`;

export const lockFamily = literalQuery({
  name: 'lock-family',
  purpose: 'Lock a session and the sessions above it. Answers a row for each.',
  locking: 'The session rows in the order of their ids.',
  text: `select ${FAMILY_SQL} as state from holdfast.sessions s
where s.id = any (array[$1::uuid] || (select self.ancestors from holdfast.sessions self where self.id = $1))
order by s.id for no key update`,
  values: (sessionId: SessionId) => [sessionId],
  answer: (rows: { state: FamilyState }[]) => rows.map(({ state }) => state),
});

export const lockBelow = literalQuery({
  name: 'lock-below',
  purpose: 'Lock the working sessions below a locked session, and the sessions between them. Answers a row for each.',
  locking: 'The session rows in the order of their ids.',
  text: `select ${FAMILY_SQL} as state from holdfast.sessions s
where s.id = any (array(select s.id from ${BELOW_SQL}) || array(select unnest(s.ancestors) from ${BELOW_SQL}))
order by s.id for no key update`,
  values: (...place: Place) => place,
  answer: (rows: { state: FamilyState }[]) => rows.map(({ state }) => state),
});

export const readFamilyRuns = literalQuery({
  name: 'family-runs',
  purpose: 'Read the runs that work, of a session and of the sessions below it.',
  text: `select ${RUN_SQL} as run from ${BELOW_SQL}`,
  values: (...place: Place) => place,
  answer: (rows: { run: RunRow }[]) => rows.map(({ run }) => run),
});

/** A session, and whether the runs below it continue. */
type Place = [sessionId: SessionId, keepsBelow: boolean];

interface SessionsStop {
  stop: FamilyStop;
  stopping: readonly string[];
}

export const STOP_SESSIONS = statement<SessionsStop>({
  name: 'stop-sessions',
  purpose: 'Ask the turns of locked sessions to stop, and cancel what waits in them. Answers the rings.',
  locking: 'The session rows are locked by the transaction; then rows that belong to them.',
  ctes: [
    cte(
      `cancelled as (
  update holdfast.inbox i set status = 'cancelled', settled_at = clock_timestamp(),
    error = json_build_object('code', 'aborted', 'message', 'Cancelled before a turn claimed it: ' || $reason::text)
  where i.session_id = any ($stopping::uuid[]) and i.status = 'waiting' and not (i.session_id = $session::uuid and $keeps_queued::boolean)
  returning i.id, i.seq, i.session_id, i.status
)`,
      {
        binds: {
          session: ({ stop }) => stop.sessionId,
          stopping: ({ stopping }) => stopping,
          keeps_queued: ({ stop }) => stop.keepsQueued,
          reason: ({ stop }) => stop.reason,
        },
      },
    ),
    cte(`updated_sessions as (
  update holdfast.sessions s
  set stop_kind = case when s.turn_id is not null or s.owner is not null then 'stopped' end,
    stop_reason = case when s.turn_id is not null or s.owner is not null then $reason::text end,
    waiting = s.waiting - (select count(*) from cancelled where cancelled.session_id = s.id)::int,
    updated_at = clock_timestamp()
  from unnest($stopping::uuid[]) as stopping (id)
  where s.id = stopping.id
  returning s.*
)`),
    cte(`killed as (
  update holdfast.processes p set kill_reason = coalesce(p.kill_reason, $reason::text)
  from updated_sessions s where p.session_id = s.id and p.status = 'running'
)`),
    cte(`deleted_yields as (
  delete from holdfast.yields y using updated_sessions s where y.session_id = s.id
)`),
    cte(`deleted_doorbells as (
  delete from holdfast.doorbells d using updated_sessions s
  where d.session_id = s.id and s.waiting = 0 and s.turn_id is null and s.owner is null
)`),
    cte(`rung_doorbells as (
  ${wakeSql('updated_sessions', 's.turn_id is not null and (s.owner is null or s.lease_expires_at <= clock_timestamp())')}
)`),
    cte(`cancelled_events as (
  select session_id, null::uuid as turn_id, 'message.settled' as type, json_build_object('messageId', id, 'status', status) as data, seq as n
  from cancelled
)`),
    cte(`inserted_events as (\n  ${insertEventsSql('select * from cancelled_events')}\n)`),
  ],
  select: 'select session_id as "sessionId", lane, rings from rung_doorbells',
});

/** The reply to a `/stop`. */
function describeStop({ cancelled, runs }: { cancelled: number; runs: number }): string {
  const counted = (verb: string, count: number, what: string): string =>
    count === 0 ? '' : ` ${verb} ${count} ${what}${count === 1 ? '' : 's'}.`;
  return `⚙️ Agent was aborted.${counted('Cancelled', cancelled, 'waiting message')}${counted('Stopped', runs, 'sub-agent')}`;
}

/**
 * Stops it; resolves once that is committed. Workers notice within a second. Throws when there is
 * no such session.
 */
export function stopFamily(parts: EffectParts, stop: FamilyStop): Promise<Committed<FamilyStopResult>> {
  return transaction(parts.database.hot, (tx) => stopLocked(tx, stop, parts), { retryMs: TURN_RETRY_MS });
}

async function stopLocked(
  tx: Transaction,
  stop: FamilyStop,
  { config, effects: { 'run-stopped': endRun = () => NOTHING } }: EffectParts,
): Promise<Committing<Committed<FamilyStopResult>>> {
  const { sessionId, reason, status, result, isOwn: isTold, command, idempotency: request = null } = stop;
  const place: Place = [sessionId, stop.keepsBelow ?? false];
  const [above, under, runs] = await Promise.all([
    lockFamily(tx, sessionId),
    lockBelow(tx, ...place),
    readFamilyRuns(tx, ...place),
  ]);
  const family = new Map([...above, ...under].map((state) => [state.id, state]));
  const self = family.get(sessionId);
  if (self === undefined) throw new Error(`There is no session ${sessionId}.`);
  if (stop.runId !== undefined && self.runId !== stop.runId) {
    void putInputs(tx, { inputs: [], keyed: { request, result: { aborted: null, cancelled: 0, runs: 0 } } });
    return { kind: 'ended' };
  }
  const own = runs.find(({ childId }) => childId === sessionId);
  const ending = !stop.keepsQueued || (self.turnId === null && self.waiting === 0) ? own : undefined;
  const below = runs.filter((run) => run !== own);
  // The sessions of all runs are locked.
  const stopping = new Map([self, ...below.map(({ childId }) => family.get(childId)!)].map((one) => [one.id, one]));
  const stopped = {
    aborted: self.turnId as TurnId | null,
    cancelled: stop.keepsQueued ? 0 : self.waiting,
    runs: below.length + (ending === undefined ? 0 : 1),
  };
  const rung = tx.query<RungColumns & { sessionId: SessionId }>(
    STOP_SESSIONS.prepared({ stop, stopping: [...stopping.keys()] }),
  );
  const end = { status, result, error: reason, isSuppressed: false, modes: config.messages.queue };
  const told = ending === undefined ? NOTHING : endRun(tx, { run: ending, end, settled: isTold ? TOLD : null }, family);
  // What ends below it is announced to the nearest session that is stopped, and never waits there.
  const top = new Map([...stopping, [sessionId, { ...self, ancestors: [] }]]);
  const killed = { ...end, status: 'killed', result: null } as const;
  const inputs = below.flatMap((run) => endRun(tx, { run, end: killed, settled: STOPPED }, top).inputs);
  const all = { inputs: [...told.inputs, ...inputs], events: told.events };
  const reply = command && { ...command, reply: describeStop(stopped) };
  const put = reply
    ? needStored(await putCommand(tx, sessionId, reply, all))
    : putInputs(tx, { ...all, keyed: { request, result: stopped } }).then(({ after }) => after);
  return async () => {
    const [rows, after] = await Promise.all([rung, put]);
    // The turns that it stops.
    const rings = rows.flatMap((row) =>
      buildRings(row.sessionId === sessionId ? 'inbound' : 'announce', row.sessionId, row),
    );
    const settled = [...([...stopping.keys()] as SessionId[]), ...after.changed];
    return { kind: 'stopped', ...stopped, after: mergeAll([{ after: { changed: [], settled, rings } }, { after }]) };
  };
}

/** The recipient has requested the end itself. */
const TOLD: NotNeeded = {
  status: 'silent',
  error: { code: 'told', message: 'The recipient of the announcement ended the run itself.' },
};

/** The recipient was stopped, and the run with it. */
const STOPPED: NotNeeded = {
  status: 'cancelled',
  error: { code: 'aborted', message: 'The parent session was stopped, and the subagent with it.' },
};
