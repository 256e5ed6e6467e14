// Erasing sessions: bounded statements, each safe to send again, and in an order in which a crash
// leaves what the next erasure finds. The session rows and the runs that connect them go last,
// together, so an erasure that was broken off is completed by the same call.
//
//   fence     the sessions get a higher epoch, no owner and no turn, and the key `erasing:<key>`:
//             no worker writes to them any more (G7), and what is sent to the key from now on finds
//             or makes another session
//   delete    what refers to other tables first, then the rest, in portions
//   finish    with the session rows locked: nothing is left, so they go; else the portions begin
//             again
//
// An input that was already on its way to a fenced session is stored before its row goes, and is
// erased with it, or finds no session, and its caller looks for the session again. Locking: rows of
// budgets before sessions, as everywhere.
import { workOff } from '../../../work-off.ts';
import type { SessionId } from '../../../core/ids.ts';
import { settleLeftCosts } from '../../budgets/store/settle-costs.ts';
import type { Database } from '../../../database/database.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { transaction } from '../../../database/transaction.ts';
import { ERASED_ROWS, eraseEvents, eraseQuery, type RemovedRows } from './erased-rows.ts';
import { ERASING, KINDS_WITHOUT_EFFECTS } from '../../../core/session-key.ts';

export const fenceSessions = literalQuery({
  name: 'fence-sessions',
  purpose: 'Take sessions from their workers and from their keys, with what ends of their turns have left to be done.',
  locking: 'The session rows in the order of their ids, then their doorbells and effects.',
  text: `with locked as materialized (select s.id from holdfast.sessions s where s.id = any ($1::uuid[]) order by s.id for no key update),
deleted_doorbells as (delete from holdfast.doorbells d using locked where d.session_id = locked.id),
deleted_effects as (delete from holdfast.effects e using locked where e.session_id = locked.id)
update holdfast.sessions s
set key = '${ERASING}' || replace(s.key, '${ERASING}', ''), epoch = s.epoch + 1, owner = null, lease_expires_at = null, turn_id = null, waiting = 0,
  stop_kind = null, stop_reason = null, archived_at = coalesce(s.archived_at, clock_timestamp()), updated_at = clock_timestamp()
from locked where s.id = locked.id`,
  pool: 'views',
  values: (ids: readonly SessionId[]) => [ids],
});

export const eraseReservations = eraseQuery({
  name: 'erase-reservations',
  purpose: 'Release reservations of the turns of sessions. Answers how many.',
  locking: 'The windows in the order of their budgets, then the reservations.',
  text: `with doomed as materialized (
  select r.turn_id, r.call_no, r.budget_id, r.starts_at from holdfast.turns t join holdfast.cost_reservations r on r.turn_id = t.id
  where t.session_id = any ($1::uuid[]) limit 1000
),
windows as materialized (
  select w.budget_id, w.starts_at from holdfast.budget_windows w
  where (w.budget_id, w.starts_at) in (select budget_id, starts_at from doomed) order by w.budget_id, w.starts_at for update
),
deleted as (
  delete from holdfast.cost_reservations r using doomed d
  where r.turn_id = d.turn_id and r.call_no = d.call_no and r.budget_id = d.budget_id and (select count(*) from windows) >= 0
  returning r.budget_id, r.starts_at, r.micros
),
updated as (
  update holdfast.budget_windows w set reserved_micros = w.reserved_micros - freed.micros
  from (select budget_id, starts_at, sum(micros) as micros from deleted group by budget_id, starts_at) as freed
  where w.budget_id = freed.budget_id and w.starts_at = freed.starts_at
)
select count(*)::int as cost_reservations from deleted`,
});

export const eraseCrons = eraseQuery({
  name: 'erase-crons',
  purpose: 'Delete crons with their fires.',
  locking: 'The crons, then their fires.',
  text: `with deleted as (delete from holdfast.crons c where c.id = any ($1::uuid[]) returning 1)
select count(*)::int as crons from deleted`,
});

export const endFires = eraseQuery({
  name: 'end-fires-of-sessions',
  purpose: 'End the fires whose inputs wait in sessions that are erased.',
  locking: 'The fires.',
  text: `update holdfast.cron_fires f set status = 'failed', reason = 'Its session was erased.', ended_at = clock_timestamp()
from holdfast.inbox i where i.session_id = any ($1::uuid[]) and i.status in ('waiting', 'claimed') and f.message_id = i.id and f.status = 'claimed'`,
});

/** Deletes the rows of fenced sessions, but for the session rows; resolves with how many. */
export async function eraseRows(
  database: Database,
  { ids, cronIds }: { ids: readonly SessionId[]; cronIds: readonly string[] },
): Promise<RemovedRows> {
  const removed: RemovedRows = {};
  await endFires(database, ids);
  // What a call has cost stays spent.
  await settleLeftCosts(database);
  await repeat(removed, () => eraseReservations(database, ids));
  await repeat(removed, () => eraseCrons(database, cronIds));
  for (const { erase } of ERASED_ROWS) await repeat(removed, () => erase(database, ids));
  return removed;
}

/** Deletes events that were in flight when the session rows were deleted. */
export async function eraseLateEvents(database: Database, ids: readonly SessionId[]): Promise<RemovedRows> {
  const removed: RemovedRows = {};
  await repeat(removed, () => eraseEvents.erase(database, ids));
  return removed;
}

/** Sends a statement until it deletes nothing. */
function repeat(removed: RemovedRows, erase: () => Promise<RemovedRows>): Promise<void> {
  return workOff(async () => {
    const more = await erase();
    add(removed, more);
    return Object.values(more).some((count) => count > 0);
  });
}

/** Adds to the counts. */
export function add(removed: RemovedRows, more: RemovedRows): void {
  for (const [table, count] of Object.entries(more)) if (count > 0) removed[table] = (removed[table] ?? 0) + count;
}

/** What arrives in a session while its rows are deleted. */
const ARRIVING = ['inbox', 'entries', 'turns', 'deliveries', 'system_events', 'compactions', 'events', 'processes'];

export const lockErased = literalQuery({
  name: 'lock-erased-sessions',
  purpose: 'Lock fenced sessions against every write.',
  locking: 'The session rows in the order of their ids.',
  text: `select s.id from holdfast.sessions s where s.id = any ($1::uuid[]) order by s.id for update`,
  values: (ids: readonly SessionId[]) => [ids],
});

export const eraseSessions = literalQuery({
  name: 'erase-sessions',
  purpose: 'Delete session rows with the runs that connect them, unless something of them is left. Answers how many.',
  locking: 'Rows that are locked by the statement before it.',
  text: `with is_left as materialized (
  select ${ARRIVING.map((table) => `exists (select from holdfast.${table} r where r.session_id = any ($1::uuid[]))`).join('\n    or ')}
    or exists (select from holdfast.subagent_runs r where r.parent_id = any ($1::uuid[]) and r.child_id <> all ($1::uuid[])) as yes
),
deleted_runs as (
  delete from holdfast.subagent_runs r using is_left
  where not is_left.yes and (r.child_id = any ($1::uuid[]) or r.parent_id = any ($1::uuid[]))
  returning 1
),
deleted as (
  delete from holdfast.sessions s using is_left where not is_left.yes and s.id = any ($1::uuid[]) returning s.id
),
counted as (
  update holdfast.roll_up_cursor c set sessions = c.sessions - gone.count
  from (select count(*) as count from deleted, holdfast.roll_up_cursor r where r.singleton and deleted.id <= r.sessions_to) as gone
  where c.singleton and gone.count > 0
)
select is_left.yes as "isLeft", (select count(*) from deleted)::int as sessions, (select count(*) from deleted_runs)::int as subagent_runs
from is_left`,
  values: (ids: readonly SessionId[]) => [ids],
  answer: ([row]: { isLeft: boolean; sessions: number; subagent_runs: number }[]): RemovedRows | null =>
    row === undefined || row.isLeft ? null : { sessions: row.sessions, subagent_runs: row.subagent_runs },
});

/**
 * Deletes the session rows, unless something of them is left: then null, and the rows have to be
 * erased again.
 */
export function finishErasure(database: Database, ids: readonly SessionId[]): Promise<RemovedRows | null> {
  return transaction(database.views, async (tx) => {
    tx.write(lockErased.prepared([ids]));
    return eraseSessions(tx, ids);
  });
}

export const isUsageCounted = literalQuery({
  name: 'is-usage-of-sessions-counted',
  purpose: 'Say whether the roll-ups have all events of sessions.',
  text: `select not exists (select from holdfast.events e where e.session_id = any ($1::uuid[])
  and e.id > (select c.after_id from holdfast.roll_up_cursor c where c.singleton)) as yes`,
  pool: 'views',
  values: (ids: readonly SessionId[]) => [ids],
  answer: ([row]: { yes: boolean }[]) => row?.yes === true,
});

/** The ids of some commands of the sessions, whose files must be deleted first. */
export const nextProcesses = literalQuery({
  name: 'next-erased-processes',
  purpose: 'Read some commands of sessions.',
  text: 'select p.id from holdfast.processes p where p.session_id = any ($1::uuid[]) order by p.id limit 100',
  pool: 'views',
  values: (ids: readonly SessionId[]) => [ids],
  answer: (rows: { id: string }[]) => rows.map(({ id }) => id),
});

/** The paths of the files of the messages of the sessions, and of those that agents have sent. */
export const listMedia = literalQuery({
  name: 'media-of-erased-sessions',
  purpose: 'Read the paths of the files of messages and deliveries of sessions.',
  text: `select distinct m.value ->> 'path' as path from (
  select i.body -> 'media' as media from holdfast.inbox i where i.session_id = any ($1::uuid[])
  union all select d.payload -> 'media' from holdfast.deliveries d where d.session_id = any ($1::uuid[])
) as said, json_array_elements(case json_typeof(said.media) when 'array' then said.media else '[]' end) as m
where m.value ->> 'path' is not null`,
  pool: 'views',
  values: (ids: readonly SessionId[]) => [ids],
  answer: (rows: { path: string }[]) => rows.map(({ path }) => path),
});

export const eraseProcesses = eraseQuery({
  name: 'erase-processes',
  purpose: 'Delete commands with what they were given to read. Answers how many.',
  locking: 'The rows that it deletes.',
  text: `with inputs as (delete from holdfast.process_inputs i where i.process_id = any ($1::uuid[]) returning 1),
deleted as (delete from holdfast.processes p where p.id = any ($1::uuid[]) returning 1)
select (select count(*) from deleted)::int as processes, (select count(*) from inputs)::int as process_inputs`,
});

// Which sessions an erasure is about: a session with all subagents below it. What its turns have
// scheduled goes with it.

export interface FamilyMember {
  id: SessionId;
  /** The stored key: it has `ERASING` in front once the erasure has begun. */
  key: string;
  /** A turn is open or messages wait. */
  hasWork: boolean;
  /** A turn is open, or a command runs in the background. */
  isBusy: boolean;
}

export const findErasedFamily = literalQuery({
  name: 'erased-family',
  purpose: 'Read the session of a stored key with all sessions below it, and their copies without effects.',
  text: `with recursive family as (
  select s.id from holdfast.sessions s where s.key = $1
  union select below.id from family cross join lateral (
    select r.child_id as id from holdfast.subagent_runs r where r.parent_id = family.id
    union all select s.id from holdfast.sessions s where s.kind = any ('{${KINDS_WITHOUT_EFFECTS.join(',')}}') and s.forked_from_id = family.id) as below
)
select s.id, s.key, s.turn_id is not null or s.waiting > 0 as "hasWork", s.turn_id is not null or exists (
    select from holdfast.processes p where p.session_id = s.id and p.status = 'running') as "isBusy"
from family join holdfast.sessions s on s.id = family.id order by s.id`,
  pool: 'views',
  values: (storedKey: string) => [storedKey],
  answer: (family: FamilyMember[]) => family,
});

// A target names its session as it was typed.
const TARGET_KEY_SQL = `case when c.target like 'session:%' then case when lower(substr(c.target, 9)) like 'agent:%' then lower(substr(c.target, 9))
      else 'agent:' || c.agent_id || ':' || lower(substr(c.target, 9)) end end`;

/**
 * The `crons` that target the sessions ($1), or that a tool of their turns has made: such a cron
 * has the turn in its cause, `<turn>:<call>`.
 */
const CRONS_SQL = `c.origin = 'api' and (
    ${TARGET_KEY_SQL} in (select replace(s.key, '${ERASING}', '') from holdfast.sessions s where s.id = any ($1::uuid[]))
    or (select t.session_id from holdfast.turns t
      where t.id = case when c.cause_key ~ '^[0-9a-f-]{36}:' then left(c.cause_key, 36)::uuid end) = any ($1::uuid[]))`;

export const stopCrons = literalQuery({
  name: 'stop-crons-of-sessions',
  purpose:
    'Disable the crons of sessions, so that they fire no more. Answers them with the keys of the sessions that isolated ones run in.',
  locking: 'The crons.',
  text: `update holdfast.crons c
set is_enabled = false, disabled_reason = 'erased', next_slot_at = null, due_at = null, revision = c.revision + 1
where ${CRONS_SQL} returning c.id, 'agent:' || c.agent_id || ':cron:' || c.id as key`,
  pool: 'views',
  values: (ids: readonly SessionId[]) => [ids],
  answer: (crons: { id: string; key: string }[]) => crons,
});
