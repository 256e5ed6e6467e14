// The fires of crons. Firing a slot is one statement: its row, the input or the event that it causes, the doorbell, and the cron's
// next slot. Any number of schedulers may send it: a cron that another scheduler is firing is skipped, one that was fired has
// another next slot, and a slot has at most one row (G20).
//
// Locking: the crons (skipping those that are locked), then the session rows in the order of their ids. No statement locks a cron
// after a session.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { MessageId, SessionId } from '../../../core/ids.ts';
import type { Tick } from '../../../core/schedule/plan-ticks.ts';
import { toDate, type NextSlot } from './crons.ts';
import type { Database } from '../../../database/database.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import { toRecords, selectRecordsSql, type SqlColumns } from '../../../database/record-set.ts';
import { sendQuery } from '../../../database/send-query.ts';
import { buildAfter, type RungColumns } from '../../../kernel/queue/rings.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { ringSql } from '../../../kernel/sessions/session-locks.ts';
import { literal } from '../../../database/statement.ts';

/** A tick with the input that it causes, if it fires. */
export interface PlannedTick {
  tick: Tick;
  /** Null for ticks that do not fire. */
  messageId: MessageId | null;
}

/** The plan for the due slots of one cron. */
export interface Firing extends NextSlot {
  cronId: string;
  /** What the plan was made from: the cron's revision and the first slot without a result. */
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

export interface FiringResult {
  cronId: string;
  /** How many slots of it fired now. */
  fired: number;
}

/** Why a slot that was to fire did not. */
const INBOX_FULL = 'inbox_full';

const FIRING: SqlColumns<Firing> = {
  n: ['bigint', (_, index) => index + 1],
  cron_id: ['uuid', ({ cronId }) => cronId],
  revision: ['bigint', ({ revision }) => revision],
  first_slot: ['timestamptz', ({ firstSlotMs }) => new Date(firstSlotMs)],
  session_id: ['uuid', ({ sessionId }) => sessionId],
  body: ['json', ({ body }) => body],
  route: ['text', ({ route }) => route],
  waiting_max: ['int', ({ waitingMax }) => waitingMax],
  next_slot: ['timestamptz', ({ nextSlotMs }) => toDate(nextSlotMs)],
  due_at: ['timestamptz', ({ dueMs }) => toDate(dueMs)],
  disabled_reason: ['text', ({ disabledReason }) => disabledReason],
};

const TICK: SqlColumns<PlannedTick & { n: number }> = {
  n: ['bigint', ({ n }) => n],
  slot: ['timestamptz', ({ tick }) => new Date(tick.slotMs)],
  status: ['text', ({ tick }) => (tick.kind === 'fire' ? 'claimed' : tick.kind)],
  reason: ['text', ({ tick }) => (tick.kind === 'fire' ? null : tick.reason)],
  slots: ['int', ({ tick }) => (tick.kind === 'fire' ? 1 : tick.count)],
  message_id: ['uuid', ({ messageId }) => messageId],
};

/** The CTEs of the plans, one row each, n from 1, and of their ticks, from `firingValues`. */
export const FIRING_SQL = `firing as materialized (${selectRecordsSql('$1', FIRING)}),
planned as materialized (${selectRecordsSql('$2', TICK)})`;

/** The values of `FIRING_SQL`. */
export const firingValues = (firings: readonly Firing[]): string[] => [
  toRecords(firings, FIRING),
  toRecords(
    firings.flatMap(({ ticks }, index) => ticks.map((planned) => ({ n: index + 1, ...planned }))),
    TICK,
  ),
];

/** The CTE `name`: the plans of `firing` that their crons still fit, with the crons locked. */
export const fittingSql = (name: string): string => `${name} as materialized (
  select c.name, firing.* from holdfast.crons c join firing on firing.cron_id = c.id
  where c.revision = firing.revision and c.is_enabled and date_trunc('milliseconds', c.next_slot_at) = firing.first_slot
  for no key update of c skip locked
)`;

/** The CTE that moves the crons of `held` past the slots of `tick`. */
export const ADVANCED_SQL = `advanced as (
  update holdfast.crons c
  set last_slot_at = done.last_slot, next_slot_at = held.next_slot, due_at = held.due_at,
    is_enabled = held.disabled_reason is null, disabled_reason = held.disabled_reason,
    revision = c.revision + case when held.disabled_reason is null then 0 else 1 end
  from held join (select n, max(slot) as last_slot from tick group by n) as done on done.n = held.n
  where c.id = held.cron_id
)`;

export const FIRE_CRONS = literal({
  name: 'fire-crons',
  purpose: 'Fire the due slots that cause turns. Answers a row per plan that fitted.',
  locking: 'The crons, skipping those that are locked, then the session rows in the order of their ids.',
  text: `with ${FIRING_SQL},
${fittingSql('held')},
locked as materialized (
  select s.* from holdfast.sessions s where s.id in (select session_id from held) order by s.id for no key update
),
tick as materialized (
  select t.n, t.slot, t.status, t.reason, t.slots, t.message_id, held.cron_id, held.name, held.session_id, held.body, held.route,
    t.status = 'claimed' and s.waiting + row_number() over (partition by held.session_id, t.status order by t.n, t.slot)
      > held.waiting_max as is_too_much
  from planned t join held on held.n = t.n join locked s on s.id = held.session_id
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
updated_sessions as (
  update holdfast.sessions s
  set inbox_seq = counted.last_seq, waiting = s.waiting + counted.arrived, updated_at = clock_timestamp()
  from counted where s.id = counted.session_id
  returning s.*
),
rung_doorbells as (
  ${ringSql('updated_sessions')}
),
${ADVANCED_SQL},
inserted_events as (
  ${insertEventsSql(`select session_id, null::uuid as turn_id, 'cron.fired' as type,
      json_build_object('cronId', cron_id, 'name', name, 'scheduledFor', ${isoSql('slot')},
        'messageId', message_id) as data, seq * 2 as n from numbered
    union all
    select session_id, null, 'message.accepted',
      json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', 'queued'), seq * 2 + 1 from stored`)}
)
select held.cron_id, held.session_id, rung_doorbells.lane, rung_doorbells.rings,
  (select count(*)::int from numbered where numbered.n = held.n) as fired
from held left join rung_doorbells on rung_doorbells.session_id = held.session_id`,
});

/** Fires plans whose ticks cause turns. A plan that is outdated, or whose cron another scheduler is firing, is left out of the answer. */
export async function fireCrons(database: Database, firings: readonly Firing[]): Promise<Committed<FiringResult>[]> {
  if (firings.length === 0) return [];
  const rows = await sendQuery<FireRow>(database.hot, FIRE_CRONS.prepared(firingValues(firings)));
  return rows.map(toFiringResult);
}

export interface FireRow extends RungColumns {
  cron_id: string;
  session_id: SessionId;
  fired: number;
}

export function toFiringResult(row: FireRow): Committed<FiringResult> {
  return { cronId: row.cron_id, fired: row.fired, after: buildAfter('cron', row.session_id, row) };
}
