// The part of the writes of a turn that ends reservations: the write that stores a call replaces what it reserved by what it cost. A write that is
// sent again stores no call, and so changes no sum. Left out of a statement while there is no budget.
import type { JournalWrite } from '../journal.ts';
import { cte, optional } from '../statement.ts';

type Writes = readonly JournalWrite[];

/** Ends the reservations of the calls that the writes store. */
export const settledBudgets = optional('budgets', (writes: Writes) =>
  writes.some(({ isBudgeted, modelCalls }) => isBudgeted === true && modelCalls.length > 0),
)(
  // A call with an unknown cost counts as its reservation, unless it was refused: otherwise no budget would end such calls.
  cte(`ended_reservations as (
  delete from holdfast.cost_reservations r using stored_calls c where r.turn_id = c.turn_id and r.call_no = c.call_no
  returning r.budget_id, r.starts_at, r.micros, coalesce(c.cost_micros, case
    when c.input_tokens + c.output_tokens + c.cache_read_tokens + c.cache_write_tokens > 0 then r.micros else 0 end) as cost_micros
)`),
  // In the order in which calls reserve.
  cte(`settled_windows as materialized (
  select w.budget_id, w.starts_at from holdfast.budget_windows w
  where (w.budget_id, w.starts_at) in (select budget_id, starts_at from ended_reservations)
  order by w.budget_id, w.starts_at for update
)`),
  cte(`settled_budgets as (
  update holdfast.budget_windows w set spent_micros = w.spent_micros + ended.cost_micros, reserved_micros = w.reserved_micros - ended.micros
  from settled_windows, (select budget_id, starts_at, sum(micros) as micros, sum(cost_micros) as cost_micros
    from ended_reservations group by budget_id, starts_at) as ended
  where w.budget_id = settled_windows.budget_id and w.starts_at = settled_windows.starts_at
    and ended.budget_id = w.budget_id and ended.starts_at = w.starts_at
)`),
);
