// Stops a session and all sessions below it, in one transaction: running turns receive a stop signal, and waiting messages are cancelled. The
// feature that has spawned the runs ends them in it, and tells the session above. The abort of a session, the kill of a subagent and the
// deadline of its run use it (G18, G24). A kill can also stop one run alone: the runs below it continue, and their ends are announced to the
// nearest session above it that is still active, as after any other end of the run.
//
// Locking: the rows of the session, of all sessions above it and of all working sessions below it, in the order of their ids. The working
// sessions below it are read before the rows are locked, and again afterwards: if a run was spawned meanwhile, nothing is written, and the
// transaction begins again.
import type { Committed } from '../queue/after-commit.ts';
import type { RunStatus } from '../../core/announcement.ts';
import type { SessionId, TurnId } from '../../core/ids.ts';
import type { FamilyState } from '../rules/family.ts';
import { commandParts, newCommands, readReplyRings, type NewCommand } from '../inbox/commands.ts';
import { NOTHING, type EffectParts } from './turn-effects.ts';
import { FAMILY_SQL, RUN_SQL, type RunRow } from '../sessions/family-rows.ts';
import { insertedEvents } from '../events/events.ts';
import { insertedKeys, type KeyedRequest } from '../../database/idempotency.ts';
import { putInputs, type NotNeeded } from '../inbox/put-inputs.ts';
import { TURN_RETRY_MS } from '../../database/retry-passing-faults.ts';
import { mergeAll, buildRings, type RungColumns, wakeSql } from '../queue/rings.ts';
import { cte, literal, statement } from '../../database/statement.ts';
import { transaction, type Committing, type Transaction } from '../../database/transaction.ts';

export interface FamilyStop {
  sessionId: SessionId;
  /** Keeps the waiting messages of the session itself; its own run then ends only if it has no other work. */
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
  /** The chat command that stops it, which becomes a row of the session's inbox: it acts only on messages accepted before it. */
  command?: StopCommand;
}

/** The reply to it lists what was stopped, so the statement writes it. */
export type StopCommand = Omit<NewCommand, 'reply'>;

/** `stopped`: `runs` counts the runs that ended, the session's own among them. `ended`: it was not working on that run any more. */
export type FamilyStopResult =
  | { kind: 'stopped'; aborted: TurnId | null; cancelled: number; runs: number }
  | { kind: 'ended' };

/** How often it tries again when the family has changed meanwhile. */
const STALE_ATTEMPTS_MAX = 50;

const BELOW_SQL = `holdfast.sessions self
  join holdfast.subagent_runs run on run.root_id = coalesce(self.ancestors[1], self.id) and run.status = 'running'
  join holdfast.sessions s on s.id = run.child_id
  where self.id = $1 and (s.id = self.id or s.ancestors @> array[self.id] and not $2::boolean)`;

export const LOCK_FAMILY = literal({
  name: 'lock-family',
  purpose: 'Lock a session, the sessions above it and the working sessions below it. Answers a row for each.',
  locking: 'The session rows in the order of their ids.',
  text: `select ${FAMILY_SQL} as state from holdfast.sessions s
where s.id = any (array[$1::uuid] || (select self.ancestors from holdfast.sessions self where self.id = $1)
  || array(select s.id from ${BELOW_SQL}) || array(select unnest(s.ancestors) from ${BELOW_SQL}))
order by s.id for no key update`,
});

export const FAMILY_RUNS = literal({
  name: 'family-runs',
  purpose: 'Read the runs that work, of a session and of the sessions below it.',
  text: `select ${RUN_SQL} as run from ${BELOW_SQL}`,
});

interface SessionsStop {
  stop: FamilyStop;
  stopping: readonly string[];
  stopped: { aborted: TurnId | null; cancelled: number; runs: number };
}

export const STOP_SESSIONS = statement<SessionsStop>({
  name: 'stop-sessions',
  purpose: 'Ask the turns of locked sessions to stop, and cancel what waits in them. Answers the rings.',
  locking: 'The session rows are locked by the transaction; then rows that belong to them.',
  ctes: [
    newCommands(({ stop }) => stop.command),
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
          result: ({ stopped }) => JSON.stringify(stopped),
          reply: ({ stopped }) => describeStop(stopped),
        },
      },
    ),
    cte(`updated_sessions as (
  update holdfast.sessions s
  set stop_kind = case when s.turn_id is not null or s.owner is not null then 'stopped' end,
    stop_reason = case when s.turn_id is not null or s.owner is not null then $reason::text end,
    waiting = s.waiting - (select count(*) from cancelled where cancelled.session_id = s.id)::int,
    inbox_seq = s.inbox_seq + own.commands, delivery_seq = s.delivery_seq + own.deliveries, updated_at = clock_timestamp(),
    last_message_at = case when own.commands > 0 then clock_timestamp() else s.last_message_at end
  from unnest($stopping::uuid[]) as stopping (id) cross join lateral (
    select count(c.id) as commands, count(c.delivery_id) as deliveries from new_commands c where stopping.id = $session::uuid
  ) as own
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
    insertedKeys('select $result::json', ({ stop }) => stop.idempotency),
    ...commandParts({
      session: '(select updated_sessions.* from updated_sessions where updated_sessions.id = $session::uuid)',
      reply: '$reply::text',
    }),
    cte(`cancelled_events as (
  select session_id, null::uuid as turn_id, 'message.settled' as type, json_build_object('messageId', id, 'status', status) as data, seq as n
  from cancelled
)`),
    insertedEvents('cancelled_events', 'command_events'),
  ],
  select: 'select session_id as "sessionId", lane, rings from rung_doorbells',
});

/** The reply to a `/stop`. */
function describeStop({ cancelled, runs }: SessionsStop['stopped']): string {
  const counted = (verb: string, count: number, what: string): string =>
    count === 0 ? '' : ` ${verb} ${count} ${what}${count === 1 ? '' : 's'}.`;
  return `⚙️ Agent was aborted.${counted('Cancelled', cancelled, 'waiting message')}${counted('Stopped', runs, 'sub-agent')}`;
}

/** Stops it; resolves once that is committed. Workers notice within a second. Throws when there is no such session. */
export async function stopFamily(parts: EffectParts, stop: FamilyStop): Promise<Committed<FamilyStopResult>> {
  const { sessionId, command } = stop;
  for (let attempt = 1; attempt <= STALE_ATTEMPTS_MAX; attempt += 1) {
    const stopped = await transaction(parts.database.hot, (tx) => stopLocked(tx, stop, parts), {
      retryMs: TURN_RETRY_MS,
    });
    if (stopped === 'stale') continue;
    if (command === undefined || stopped.kind === 'ended') return stopped;
    const reply = { changed: [], rings: await readReplyRings(parts.database, sessionId, command) };
    return { ...stopped, after: mergeAll([stopped, { after: reply }]) };
  }
  throw new Error(
    `The family of the session ${sessionId} was changed by other requests at each attempt to stop it. Try again later.`,
  );
}

async function stopLocked(
  tx: Transaction,
  stop: FamilyStop,
  { config, effects: { 'run-stopped': endRun = () => NOTHING } }: EffectParts,
): Promise<Committing<Committed<FamilyStopResult> | 'stale'>> {
  const { sessionId, reason, status, result, isOwn: isTold } = stop;
  const place = [sessionId, stop.keepsBelow ?? false];
  const locked = await tx.query<{ state: FamilyState }>(LOCK_FAMILY.prepared(place));
  const family = new Map(locked.map(({ state }) => [state.id, state]));
  const self = family.get(sessionId);
  if (self === undefined) throw new Error(`There is no session ${sessionId}.`);
  const runs = (await tx.query<{ run: RunRow }>(FAMILY_RUNS.prepared(place))).map(({ run }) => run);
  if (runs.some(({ childId }) => !family.has(childId))) return 'stale';
  if (stop.runId !== undefined && self.runId !== stop.runId) {
    const stopped = { aborted: null, cancelled: 0, runs: 0 };
    tx.write(STOP_SESSIONS.prepared({ stop, stopping: [], stopped }));
    return { kind: 'ended' };
  }
  const own = runs.find(({ childId }) => childId === sessionId);
  const ending = !stop.keepsQueued || (self.turnId === null && self.waiting === 0) ? own : undefined;
  const below = runs.filter((run) => run !== own);
  const stopping = new Map([self, ...below.map(({ childId }) => family.get(childId)!)].map((one) => [one.id, one]));
  const stopped = {
    aborted: self.turnId as TurnId | null,
    cancelled: stop.keepsQueued ? 0 : self.waiting,
    runs: below.length + (ending === undefined ? 0 : 1),
  };
  const rung = tx.query<RungColumns & { sessionId: SessionId }>(
    STOP_SESSIONS.prepared({ stop, stopping: [...stopping.keys()], stopped }),
  );
  const end = { status, result, error: reason, isSuppressed: false, modes: config.messages.queue };
  const told = ending === undefined ? NOTHING : endRun(tx, { run: ending, end, settled: isTold ? TOLD : null }, family);
  // What ends below it is announced to the nearest session that is stopped, and never waits there.
  const top = new Map([...stopping, [sessionId, { ...self, ancestors: [] }]]);
  const killed = { ...end, status: 'killed', result: null } as const;
  const inputs = below.flatMap((run) => endRun(tx, { run, end: killed, settled: STOPPED }, top).inputs);
  const put = putInputs(tx, { inputs: [...told.inputs, ...inputs], events: told.events });
  return async () => {
    const [rows, { after }] = await Promise.all([rung, put]);
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
