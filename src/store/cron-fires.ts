// The fires of crons. Firing a slot is one statement: its row, the input or the event that it causes, the doorbell, and the cron's
// next slot. Any number of schedulers may send it: a cron that somebody else is firing is skipped, one that was fired has another
// next slot, and a slot has one row for ever (G20).
//
// Locking: the crons (skipping those that are locked), then the session rows in the order of their ids. Nobody locks a cron after a
// session.
import type { MessageId, SessionId } from '../core/ids.ts';
import type { Tick } from '../core/schedule/plan-ticks.ts';
import type { NextSlot } from './crons.ts';
import type { Database } from './database.ts';
import { insertEventsSql } from './events.ts';
import { retryPassingFaults } from './retry-passing-faults.ts';
import { firstRingSql, type NeededRing } from './session-locks.ts';
import { dropOldestEventsSql } from './system-events.ts';

/** A tick with the input that it causes, if it fires. */
export interface PlannedTick {
  tick: Tick;
  /** Null for ticks that do not fire. */
  messageId: MessageId | null;
}

/** What is done with the slots of one cron that are due. */
export interface Firing extends NextSlot {
  cronId: string;
  /** What the plan was made from: the cron's revision and the first slot without a fate. */
  revision: number;
  firstSlotMs: number;
  sessionId: SessionId;
  /** The body of the inputs, as JSON text. */
  body: string;
  route: string;
  /** The most messages that may wait in the session. */
  waitingMax: number;
  ticks: PlannedTick[];
  /** Set: nothing follows, and the cron is switched off for this reason. */
  disabledReason: string | null;
}

/** A firing by a system event, with the poll that makes somebody look at it. */
export interface EventFiring extends Firing {
  event: { id: string; text: string; contextKey: string; isTrusted: boolean };
  /** Null: the event waits for a turn that comes anyway. */
  pollId: MessageId | null;
}

export interface FiringResult {
  cronId: string;
  /** How many slots of it fired now. */
  fired: number;
  /** The ring that its session needs. */
  ring: NeededRing | null;
}

/** Why a slot that was to fire did not. */
const INBOX_FULL = 'inbox_full';
/** The same line waits already. */
const DUPLICATE = 'duplicate';
const RETRY_MS = 5_000;
const STALE_LOOKS_MAX = 5;

// The crons that the plans still fit, held until the end of the statement; `firing` is one row per plan, n from 1.
const HELD_SQL = `held as materialized (
  select c.name, firing.* from holdfast.crons c join firing on firing.cron_id = c.id
  where c.revision = firing.revision and c.is_enabled and date_trunc('milliseconds', c.next_slot_at) = firing.first_slot
  for no key update of c skip locked
)`;

const ADVANCED_SQL = `advanced as (
  update holdfast.crons c
  set last_slot_at = done.last_slot, next_slot_at = held.next_slot, due_at = held.due_at, is_retry = false,
    is_enabled = held.disabled_reason is null, disabled_reason = held.disabled_reason,
    revision = c.revision + case when held.disabled_reason is null then 0 else 1 end
  from held join (select n, max(slot) as last_slot from tick group by n) as done on done.n = held.n
  where c.id = held.cron_id
)`;

// Purpose: fire what causes turns. Input: one array per column of the plans, and of their ticks. Output: a row per plan that fitted.
const FIRE_SQL = `/* fire-crons */
with firing as materialized (
  select * from unnest($1::uuid[], $2::bigint[], $3::timestamptz[], $4::uuid[], $5::json[], $6::text[], $7::int[],
      $8::timestamptz[], $9::timestamptz[], $10::text[]) with ordinality
    as firing (cron_id, revision, first_slot, session_id, body, route, waiting_max, next_slot, due_at, disabled_reason, n)
),
${HELD_SQL},
locked as materialized (
  select s.* from holdfast.sessions s where s.id in (select session_id from held) order by s.id for no key update
),
tick as materialized (
  select t.n, t.slot, t.status, t.reason, t.slots, t.message_id, held.cron_id, held.name, held.session_id, held.body, held.route,
    t.status = 'claimed' and s.waiting + row_number() over (partition by held.session_id, t.status order by t.n, t.slot)
      > held.waiting_max as is_too_much
  from unnest($11::bigint[], $12::timestamptz[], $13::text[], $14::text[], $15::int[], $16::uuid[])
    as t (n, slot, status, reason, slots, message_id)
  join held on held.n = t.n join locked s on s.id = held.session_id
),
fired as (
  insert into holdfast.cron_fires (cron_id, scheduled_for, status, message_id, reason, slots, fired_at, ended_at)
  select cron_id, slot, case when is_too_much then 'skipped' else status end,
    case when status = 'claimed' and not is_too_much then message_id end, case when is_too_much then '${INBOX_FULL}' else reason end,
    slots, case when status = 'claimed' and not is_too_much then clock_timestamp() end,
    case when status <> 'claimed' or is_too_much then clock_timestamp() end
  from tick
  on conflict (cron_id, scheduled_for) do nothing
  returning cron_id, scheduled_for, status, message_id
),
numbered as materialized (
  select tick.*, s.inbox_seq + row_number() over (partition by tick.session_id order by tick.n, tick.slot) as seq
  from fired join tick on tick.cron_id = fired.cron_id and tick.slot = fired.scheduled_for join locked s on s.id = tick.session_id
  where fired.status = 'claimed'
),
stored as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, cause_key)
  select message_id, session_id, seq, 'cron', body, route, 'cron:' || cron_id || ':' || extract(epoch from slot) from numbered
  on conflict do nothing
  returning id, session_id, seq, kind
),
counted as materialized (
  select session_id, max(seq) as last_seq, count(*)::int as arrived from stored group by session_id
),
bumped as (
  update holdfast.sessions s
  set inbox_seq = counted.last_seq, waiting = s.waiting + counted.arrived, updated_at = clock_timestamp()
  from counted where s.id = counted.session_id
  returning s.*
),
rung as (
  insert into holdfast.doorbells (session_id, lane, rings)
  select id, lane, ${firstRingSql('bumped')} from bumped
  on conflict (session_id) do nothing
  returning session_id, lane, rings
),
${ADVANCED_SQL},
told as (
  ${insertEventsSql(`select session_id, null::uuid as turn_id, 'cron.fired' as type,
      json_build_object('cronId', cron_id, 'name', name, 'scheduledFor', to_char(slot at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'messageId', message_id) as data, seq * 2 as n from numbered
    union all
    select session_id, null, 'message.accepted',
      json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', 'queued'), seq * 2 + 1 from stored`)}
)
select held.cron_id, held.session_id, rung.lane, rung.rings,
  (select count(*)::int from numbered where numbered.n = held.n) as fired
from held left join rung on rung.session_id = held.session_id`;

/** Fires plans whose ticks cause turns. What does not fit any more, or is being fired by somebody else, is left out of the answer. */
export async function fireCrons(database: Database, firings: readonly Firing[]): Promise<FiringResult[]> {
  if (firings.length === 0) return [];
  const rows = await ask(database, 'fire-crons', FIRE_SQL, [...planColumns(firings), ...tickColumns(firings)]);
  const rung = new Set<string>();
  return rows.map((row) => {
    const isFirst = !rung.has(row.session_id);
    rung.add(row.session_id);
    return { cronId: row.cron_id, fired: row.fired, ring: isFirst ? ringOf(row) : null };
  });
}

// Purpose: fire what leaves a line for the next prompt. One plan, so the arrays of its columns have one element.
// What waits in the session is counted after its row is held; a statement that waited for the row would count what was there
// before, so it notices and is sent again (`stale`).
const FIRE_EVENT_SQL = `/* fire-cron-event */
with firing as materialized (
  select * from unnest($1::uuid[], $2::bigint[], $3::timestamptz[], $4::uuid[], $5::json[], $6::text[], $7::int[],
      $8::timestamptz[], $9::timestamptz[], $10::text[]) with ordinality
    as firing (cron_id, revision, first_slot, session_id, body, route, waiting_max, next_slot, due_at, disabled_reason, n)
),
seen as materialized (select s.xmin as version from holdfast.sessions s where s.id = ($4::uuid[])[1]),
candidate as materialized (
  select c.name, firing.* from holdfast.crons c join firing on firing.cron_id = c.id
  where c.revision = firing.revision and c.is_enabled and date_trunc('milliseconds', c.next_slot_at) = firing.first_slot
  for no key update of c skip locked
),
locked as materialized (
  select s.*, s.xmin as version from holdfast.sessions s
  where s.id in (select session_id from candidate) order by s.id for no key update
),
held as materialized (
  select candidate.* from candidate join locked s on s.id = candidate.session_id join seen on seen.version = s.version
),
tick as materialized (
  select t.n, t.slot, t.status, t.reason, t.slots, held.cron_id, held.name, held.session_id,
    row_number() over (partition by t.status order by t.slot desc) = 1 and t.status = 'claimed' as is_latest
  from unnest($11::bigint[], $12::timestamptz[], $13::text[], $14::text[], $15::int[]) as t (n, slot, status, reason, slots)
  join held on held.n = t.n
),
novelty as materialized (
  select s.id as session_id, s.last_event_text is distinct from $17 as is_new,
    $19::uuid is not null and s.waiting < held.waiting_max as is_polled
  from locked s join held on held.session_id = s.id where exists (select from tick where status = 'claimed')
),
fired as (
  insert into holdfast.cron_fires (cron_id, scheduled_for, status, message_id, reason, slots, fired_at, ended_at)
  select cron_id, slot,
    case when status <> 'claimed' then status when is_latest and is_new and is_polled then 'claimed' else 'completed' end,
    case when is_latest and is_new and is_polled then $19::uuid end,
    case when status <> 'claimed' then reason when not (is_latest and is_new) then '${DUPLICATE}' end, slots,
    case when status = 'claimed' then clock_timestamp() end,
    case when status <> 'claimed' or not (is_latest and is_new and is_polled) then clock_timestamp() end
  from tick left join novelty on novelty.session_id = tick.session_id
  on conflict (cron_id, scheduled_for) do nothing
  returning cron_id, scheduled_for, status, message_id, fired_at
),
waited as materialized (
  select novelty.session_id, novelty.is_polled from novelty
  where novelty.is_new and exists (select from fired join tick on tick.slot = fired.scheduled_for where tick.is_latest)
),
${dropOldestEventsSql('waited').join(',\n')},
noted as (
  insert into holdfast.system_events (id, session_id, text, context_key, is_trusted, cause_key)
  select $16::uuid, waited.session_id, $17, $18, $20, 'cron:' || tick.cron_id || ':' || extract(epoch from tick.slot)
  from waited join tick on tick.is_latest
  on conflict do nothing
  returning session_id
),
stored as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, cause_key)
  select $19::uuid, s.id, s.inbox_seq + 1, 'heartbeat', held.body, held.route, 'cron:' || tick.cron_id || ':' || extract(epoch from tick.slot)
  from waited join locked s on s.id = waited.session_id join held on held.session_id = s.id join tick on tick.is_latest
  where waited.is_polled
  on conflict do nothing
  returning id, session_id, seq, kind
),
bumped as (
  update holdfast.sessions s
  set last_event_text = $17, updated_at = clock_timestamp(),
    inbox_seq = s.inbox_seq + (select count(*) from stored), waiting = s.waiting + (select count(*) from stored)::int
  from waited where s.id = waited.session_id
  returning s.*
),
rung as (
  insert into holdfast.doorbells (session_id, lane, rings)
  select id, lane, ${firstRingSql('bumped')} from bumped where exists (select from stored)
  on conflict (session_id) do nothing
  returning session_id, lane, rings
),
${ADVANCED_SQL},
told as (
  ${insertEventsSql(`select tick.session_id, null::uuid as turn_id, 'cron.fired' as type,
      json_build_object('cronId', tick.cron_id, 'name', tick.name,
        'scheduledFor', to_char(tick.slot at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'messageId', fired.message_id) as data, extract(epoch from tick.slot)::bigint as n
      from fired join tick on tick.slot = fired.scheduled_for where fired.fired_at is not null
    union all
    select session_id, null, 'message.accepted',
      json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', 'queued'), 9e15::bigint from stored`)}
)
select candidate.cron_id, candidate.session_id, held.n is null as is_stale, rung.lane, rung.rings,
  (select count(*)::int from fired where fired_at is not null) as fired
from candidate left join held on held.n = candidate.n left join rung on rung.session_id = candidate.session_id`;

/** Fires a plan whose ticks leave a line for the next prompt; several that fire together leave one. Null: it did not fit any more. */
export async function fireCronEvent(database: Database, firing: EventFiring): Promise<FiringResult | null> {
  const { event } = firing;
  const values = [
    ...planColumns([firing]),
    ...tickColumns([firing]).slice(0, -1),
    event.id,
    event.text,
    event.contextKey,
    firing.pollId,
    event.isTrusted,
  ];
  for (let look = 1; look <= STALE_LOOKS_MAX; look += 1) {
    const [row] = await ask(database, 'fire-cron-event', FIRE_EVENT_SQL, values);
    if (row === undefined) return null;
    if (!row.is_stale) return { cronId: row.cron_id, fired: row.fired, ring: ringOf(row) };
  }
  return null;
}

// Purpose: a run that somebody asked for. It is no slot: it has its own moment and leaves the schedule as it is.
// Input: $3 the input's id, null for none; $9 the event's id, null for none.
const RUN_NOW_SQL = `/* run-cron */
with held as materialized (select c.id, c.name from holdfast.crons c where c.id = $1 for share),
locked as materialized (
  select s.*, s.id as session_id from holdfast.sessions s where s.id = $2 and exists (select from held) for no key update
),
noticed as materialized (select session_id from locked where $9::uuid is not null),
${dropOldestEventsSql('noticed').join(',\n')},
noted as (
  insert into holdfast.system_events (id, session_id, text, context_key, is_trusted, cause_key)
  select $9::uuid, session_id, $10, $11, $12, $6 from noticed
  on conflict do nothing
  returning id, text
),
stored as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, cause_key)
  select $3::uuid, s.id, s.inbox_seq + 1, $8, $4::json, $5, $6 from locked s where $3::uuid is not null and s.waiting < $7
  on conflict do nothing
  returning id, session_id, seq, kind
),
fired as (
  insert into holdfast.cron_fires (cron_id, scheduled_for, status, message_id, fired_at, ended_at, is_manual)
  select held.id, date_trunc('milliseconds', clock_timestamp()), case when stored.id is null then 'completed' else 'claimed' end,
    stored.id, clock_timestamp(), case when stored.id is null then clock_timestamp() end, true
  from held left join stored on true where stored.id is not null or exists (select from noted)
  returning cron_id, scheduled_for, message_id
),
bumped as (
  update holdfast.sessions s
  set inbox_seq = s.inbox_seq + (select count(*) from stored), waiting = s.waiting + (select count(*) from stored)::int,
    last_event_text = coalesce((select text from noted), s.last_event_text), updated_at = clock_timestamp()
  from locked, fired where s.id = locked.id
  returning s.*
),
rung as (
  insert into holdfast.doorbells (session_id, lane, rings)
  select id, lane, ${firstRingSql('bumped')} from bumped where exists (select from stored)
  on conflict (session_id) do nothing
  returning session_id, lane, rings
),
told as (
  ${insertEventsSql(`select locked.session_id, null::uuid as turn_id, 'cron.fired' as type,
      json_build_object('cronId', held.id, 'name', held.name,
        'scheduledFor', to_char(fired.scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'messageId', fired.message_id) as data, 1 as n from held, locked, fired
    union all
    select session_id, null, 'message.accepted',
      json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', 'queued'), 2 from stored`)}
)
select locked.session_id, fired.scheduled_for, rung.lane, rung.rings
from locked left join fired on true left join rung on true`;

export interface ManualRun {
  cronId: string;
  sessionId: SessionId;
  /** Null: it only leaves its line. */
  input: { messageId: MessageId; kind: 'cron' | 'heartbeat'; body: string; route: string } | null;
  event: { id: string; text: string; contextKey: string; isTrusted: boolean } | null;
  /** Two runs for the same cause are one. */
  causeKey: string;
  waitingMax: number;
}

/**
 * Runs a cron now. `ran`: with the moment that names the fire, and the ring that its session needs. `again`: it was asked for with this
 * cause before. `full`: too many messages wait. `unknown`: no such cron or session.
 */
export async function runCron(
  database: Database,
  { cronId, sessionId, input, event, causeKey, waitingMax }: ManualRun,
): Promise<
  | { kind: 'ran'; scheduledFor: Date; ring: NeededRing | null }
  | { kind: 'again'; scheduledFor: Date }
  | { kind: 'full' | 'unknown' }
> {
  const [row] = await ask(database, 'run-cron', RUN_NOW_SQL, [
    cronId,
    sessionId,
    input?.messageId ?? null,
    input?.body ?? null,
    input?.route ?? null,
    causeKey,
    waitingMax,
    input?.kind ?? null,
    event?.id ?? null,
    event?.text ?? null,
    event?.contextKey ?? null,
    event?.isTrusted ?? null,
  ]);
  if (row === undefined) return { kind: 'unknown' };
  if (row.scheduled_for !== null) return { kind: 'ran', scheduledFor: row.scheduled_for, ring: ringOf(row) };
  const known = await database.views.query(
    `/* run-of-cause */
select coalesce(f.scheduled_for, e.created_at) as scheduled_for
from (select $1::text as key) as cause
left join holdfast.inbox i on i.cause_key = cause.key left join holdfast.cron_fires f on f.message_id = i.id
left join holdfast.system_events e on e.cause_key = cause.key`,
    [causeKey],
  );
  const scheduledFor: Date | null = known.rows[0]?.scheduled_for ?? null;
  return scheduledFor === null ? { kind: 'full' } : { kind: 'again', scheduledFor };
}

interface FireRow {
  cron_id: string;
  session_id: SessionId;
  is_stale: boolean;
  fired: number;
  lane: string | null;
  rings: string | null;
  scheduled_for: Date | null;
}

/** All statements here may be sent again as they were. */
async function ask(database: Database, name: string, text: string, values: unknown[]): Promise<FireRow[]> {
  const result = await retryPassingFaults(() => database.hot.query({ name, text, values }), { retryMs: RETRY_MS });
  return result.rows;
}

function ringOf(row: FireRow): NeededRing | null {
  if (row.rings === null || row.lane === null) return null;
  return { sessionId: row.session_id, lane: row.lane, ringNo: Number(row.rings) };
}

function planColumns(firings: readonly Firing[]): unknown[] {
  return [
    firings.map((firing) => firing.cronId),
    firings.map((firing) => firing.revision),
    firings.map((firing) => new Date(firing.firstSlotMs)),
    firings.map((firing) => firing.sessionId),
    firings.map((firing) => firing.body),
    firings.map((firing) => firing.route),
    firings.map((firing) => firing.waitingMax),
    firings.map((firing) => timeOf(firing.slotMs)),
    firings.map((firing) => timeOf(firing.dueMs)),
    firings.map((firing) => firing.disabledReason),
  ];
}

function tickColumns(firings: readonly Firing[]): unknown[] {
  const rows = firings.flatMap(({ ticks }, index) => ticks.map((planned) => ({ n: index + 1, ...planned })));
  return [
    rows.map(({ n }) => n),
    rows.map(({ tick }) => new Date(tick.slotMs)),
    rows.map(({ tick }) => (tick.kind === 'fire' ? 'claimed' : tick.kind)),
    rows.map(({ tick }) => (tick.kind === 'fire' ? null : tick.reason)),
    rows.map(({ tick }) => (tick.kind === 'fire' ? 1 : tick.count)),
    rows.map(({ messageId }) => messageId),
  ];
}

function timeOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
