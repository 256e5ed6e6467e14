// Reservations: before a call is made, its likely cost is put aside in the window of each budget
// that covers it, all of them or none.
//
// The calls of one statement are judged together. One that has room alone and none beside those
// before it is answered `again`: it is asked once more, when it is known which of those had room.
//
// Locking: the windows in the order of budget and time; then reservations of the same turns, which
// nothing else waits for.
import type { SessionId, TurnId } from '../../../core/ids.ts';
import type { Database } from '../../../database/database.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import {
  toRecords,
  selectRecordsSql,
  type SqlColumns,
  shareStatement,
  type RowSubmitter,
} from '../../../database/statement.ts';
import { LASTING_RETRY_MS } from '../../../database/passing-faults.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { windowBoundsSql } from './budgets-sql.ts';

/**
 * A call that is about to be made, with the reservation that it requests from each of its budgets.
 */
export interface CostRequest {
  sessionId: SessionId;
  turnId: TurnId;
  callNo: number;
  /** The epoch of the claim. Reserving deletes the turn's reservations from earlier claims. */
  epoch: number;
  asks: readonly { budgetId: string; micros: number }[];
  /**
   * False: a call in a batch of the provider, which is refused instead of waiting for other
   * reservations, because its own may stay for a day.
   */
  isLive: boolean;
}

/**
 * `refused`: the budget named has no room for it, until its window ends, after `waitMs`; null: it
 * has no end. `oversized`: it is more than the whole limit of the budget, which therefore does not
 * count as reached. `busy`: there is no room beside what other calls have reserved, and there will
 * be when they cost less.
 */
export type ReservedCost =
  | { kind: 'reserved'; budgetId: null; waitMs: null }
  | { kind: 'busy' | 'oversized' | 'refused'; budgetId: string; waitMs: number | null };

/**
 * `closed`: a budget has no window for now. `again`: the call fits alone, but not together with the
 * calls before it in this statement.
 */
type CostAnswer = ReservedCost | { kind: 'closed' } | { kind: 'again' };

interface FlatAsk {
  n: number;
  request: CostRequest;
  ask: CostRequest['asks'][number];
}

const COLUMNS: SqlColumns<FlatAsk> = {
  n: ['int', ({ n }) => n],
  session_id: ['uuid', ({ request }) => request.sessionId],
  turn_id: ['uuid', ({ request }) => request.turnId],
  call_no: ['int', ({ request }) => request.callNo],
  epoch: ['bigint', ({ request }) => request.epoch],
  budget_id: ['uuid', ({ ask }) => ask.budgetId],
  micros: ['bigint', ({ ask }) => ask.micros],
  is_live: ['boolean', ({ request }) => request.isLive],
};

export const reserveCosts = literalQuery({
  name: 'reserve-cost',
  purpose:
    'Reserve the likely costs of calls in the windows of their budgets, and end reservations of earlier claims of their turns. Answers a verdict per call.',
  locking: 'The windows in the order of their budgets, then the reservations.',
  // `shareStatement` sends it again.
  retryMs: 0,
  text: `with asks as materialized (${selectRecordsSql('$1', COLUMNS)}),
-- Not here: settle-costs deletes the reservation of a stored call. That of an answered request to a batch of the provider stays until its
-- call is stored, whichever claim does that.
earlier as materialized (
  select r.turn_id, r.call_no, r.budget_id, r.starts_at, r.micros from holdfast.cost_reservations r
  join (select distinct turn_id, call_no, epoch from asks) as a on a.turn_id = r.turn_id and (a.call_no = r.call_no
    or r.epoch < a.epoch and not exists (select from holdfast.provider_requests q
      where q.turn_id = r.turn_id and q.call_no = r.call_no and q.status = 'answered'))
  where not exists (select from holdfast.model_calls c where c.turn_id = r.turn_id and c.call_no = r.call_no)
),
windows as materialized (
  select w.* from holdfast.budget_windows w
  where w.budget_id in (select budget_id from asks) and w.starts_at <= clock_timestamp()
      and (w.ends_at is null or w.ends_at > clock_timestamp())
    or (w.budget_id, w.starts_at) in (select budget_id, starts_at from earlier)
  order by w.budget_id, w.starts_at for update
),
-- Read again under the locks: what another statement has ended meanwhile is not ended twice.
freed as (
  delete from holdfast.cost_reservations r using earlier e
  where r.turn_id = e.turn_id and r.call_no = e.call_no and r.budget_id = e.budget_id and exists (select from windows)
  returning r.budget_id, r.starts_at, r.micros
),
room as materialized (
  select w.budget_id, w.starts_at, w.ends_at, case when b.origin <> 'batch' and b.limit_micros > 0 then b.limit_micros end as largest_micros,
    b.limit_micros - w.spent_micros as unspent_micros, b.limit_micros - w.spent_micros - w.reserved_micros
      + coalesce((select sum(f.micros) from freed f where f.budget_id = w.budget_id and f.starts_at = w.starts_at), 0) as micros
  from windows w join holdfast.budgets b on b.id = w.budget_id
  where w.starts_at <= clock_timestamp() and (w.ends_at is null or w.ends_at > clock_timestamp())
),
judged as materialized (
  select a.*, room.starts_at, room.ends_at, room.budget_id is not null as is_open, a.micros <= room.micros as fits_alone,
    a.micros <= case when a.is_live then room.unspent_micros else room.micros end as fits_unspent,
    a.micros > room.unspent_micros as exceeds, coalesce(a.micros > room.largest_micros, false) as is_oversized, sum(a.micros) over (partition by a.budget_id order by a.n) <= room.micros as fits
  from asks a left join room on room.budget_id = a.budget_id
),
verdicts as materialized (
  select n, case when not bool_and(is_open) then 'closed' when bool_and(fits) then 'reserved' when bool_and(fits_alone) then 'again'
      when bool_and(fits_unspent) then 'busy' when bool_or(is_oversized) then 'oversized'
      else 'refused' end as verdict,
    (array_agg(budget_id order by is_oversized desc, fits_unspent, ends_at desc nulls first, budget_id) filter (where is_open and not fits_alone))[1] as budget_id
  from judged group by n
),
granted as materialized (
  select j.* from judged j join verdicts v on v.n = j.n where v.verdict = 'reserved'
),
-- A statement that is sent again while the first one waits for its windows finds the reservation here: the window counts it already.
inserted as (
  insert into holdfast.cost_reservations (turn_id, call_no, budget_id, starts_at, session_id, epoch, micros)
  select turn_id, call_no, budget_id, starts_at, session_id, epoch, micros from granted
  on conflict do nothing returning budget_id, starts_at, micros
),
-- The least that there was no room for beside what others have reserved; null: not even the unspent rest was enough.
refusals as materialized (
  select j.budget_id, j.starts_at, case when not bool_or(j.exceeds) then min(j.micros) end as micros
  from judged j join verdicts v on v.n = j.n
  where v.verdict in ('refused', 'oversized') and j.is_open and not j.fits_unspent and not j.is_oversized group by j.budget_id, j.starts_at
),
updated as (
  update holdfast.budget_windows w
  set reserved_micros = w.reserved_micros
      - coalesce((select sum(f.micros) from freed f where f.budget_id = w.budget_id and f.starts_at = w.starts_at), 0)
      + coalesce((select sum(i.micros) from inserted i where i.budget_id = w.budget_id and i.starts_at = w.starts_at), 0),
    warned_at = case when is_first_warning then clock_timestamp() else w.warned_at end,
    reached_at = case when is_first_refusal then clock_timestamp() else w.reached_at end,
    reached_micros = case when is_first_refusal or refused.budget_id is not null and w.reached_micros is not null then refused.micros
      else w.reached_micros end
  from windows was join holdfast.budgets b on b.id = was.budget_id
    left join refusals refused on refused.budget_id = was.budget_id and refused.starts_at = was.starts_at,
    lateral (select coalesce(was.warned_at <= b.changed_at, was.warned_at is null)
        and was.spent_micros * 100 >= b.limit_micros * b.warn_percent as is_first_warning,
      coalesce(was.reached_at <= b.changed_at, was.reached_at is null) and refused.budget_id is not null as is_first_refusal) as news
  where w.budget_id = was.budget_id and w.starts_at = was.starts_at
  returning w.budget_id, b.scope, b.per, b.limit_micros, w.spent_micros, w.reserved_micros,
    is_first_warning, is_first_refusal
),
inserted_events as (
  ${insertEventsSql(
    `select null::uuid as session_id, null::uuid as turn_id, type, json_build_object('budgetId', budget_id, 'scope', scope, 'per', per,
      'limitMicros', limit_micros, 'spentMicros', spent_micros, 'reservedMicros', reserved_micros) as data, 0 as n
    from updated, lateral (values ('budget.warned', is_first_warning), ('budget.reached', is_first_refusal)) as kinds (type, is_news)
    where is_news`,
  )}
)
select v.verdict as kind, v.budget_id as "budgetId",
  (select extract(epoch from max(j.ends_at) - clock_timestamp()) * 1000 from judged j
    where j.n = v.n and j.budget_id = v.budget_id)::float8 as "waitMs"
from verdicts v order by v.n`,
  values(requests: CostRequest[]) {
    const asks = requests.flatMap((request, index) => request.asks.map((ask) => ({ n: index + 1, request, ask })));
    return [toRecords(asks, COLUMNS)];
  },
  // Every request has asks, so each has an answer, in their order.
  answer: (verdicts: CostAnswer[]) => verdicts,
});

export const openWindows = literalQuery({
  name: 'open-budget-windows',
  purpose: 'Open the present windows of budgets: the hour, day or month of their zone, by the clock of the database.',
  locking: 'Windows that another statement opens at the same time.',
  retryMs: LASTING_RETRY_MS,
  text: `with moment as materialized (select clock_timestamp() as at)
insert into holdfast.budget_windows (budget_id, starts_at, ends_at)
select b.id, bounds.starts_at, bounds.ends_at
from holdfast.budgets b cross join moment, ${windowBoundsSql('b', 'moment.at')} as bounds
where b.id = any ($1::uuid[]) order by b.id
on conflict do nothing`,
  values: (budgetIds: readonly string[]) => [budgetIds],
});

/** Makes the function that reserves; calls of different turns share statements. */
export function createReserveCost(database: Database): RowSubmitter<CostRequest, ReservedCost> {
  const submit = shareStatement('reserve-cost', (requests: CostRequest[]) => reserveCosts(database, requests));
  return async (request) => {
    for (;;) {
      const answer = await submit(request);
      if (answer.kind === 'closed') {
        await openWindows(
          database,
          request.asks.map(({ budgetId }) => budgetId),
        );
      } else if (answer.kind !== 'again') return answer;
    }
  };
}
