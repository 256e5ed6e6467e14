// A reservation whose call is stored is replaced by what the call cost. The process that has stored
// the call does so right after its commit; what a crash has left, the schedulers do. Until then the
// call counts as its reservation, so no budget is counted too low.
import type { TurnId } from '../../../core/ids.ts';
import type { Database } from '../../../database/database.ts';
import { shareStatement } from '../../../database/statement.ts';
import { literalQuery } from '../../../database/literal-query.ts';

const TURNS_MAX = 1_000;

/** SQL of the reservations `r` with their stored calls `c`. */
const STORED_SQL = `holdfast.cost_reservations r join holdfast.model_calls c on c.turn_id = r.turn_id and c.call_no = r.call_no`;

export const settleCosts = literalQuery({
  name: 'settle-costs',
  purpose:
    'Replace the reservations of stored calls of turns by what the calls cost. An unknown cost counts as its reservation, unless the call was refused.',
  locking: 'The windows in the order of their budgets, then the reservations.',
  text: `with windows as materialized (
  select w.budget_id, w.starts_at from holdfast.budget_windows w
  where (w.budget_id, w.starts_at) in (select r.budget_id, r.starts_at from ${STORED_SQL} where r.turn_id = any ($1::uuid[]))
  order by w.budget_id, w.starts_at for update
),
ended as (
  delete from holdfast.cost_reservations r using windows w, holdfast.model_calls c
  where r.turn_id = any ($1::uuid[]) and c.turn_id = r.turn_id and c.call_no = r.call_no and w.budget_id = r.budget_id and w.starts_at = r.starts_at
  returning r.budget_id, r.starts_at, r.micros, coalesce(c.cost_micros, case
    when c.input_tokens + c.output_tokens + c.cache_read_tokens + c.cache_write_tokens > 0 then r.micros else 0 end) as cost_micros
)
update holdfast.budget_windows w set spent_micros = w.spent_micros + sums.cost_micros, reserved_micros = w.reserved_micros - sums.micros
from (select budget_id, starts_at, sum(micros) as micros, sum(cost_micros) as cost_micros from ended group by budget_id, starts_at) as sums
where w.budget_id = sums.budget_id and w.starts_at = sums.starts_at`,
  values: (turnIds: readonly TurnId[]) => [turnIds],
});

/**
 * Makes the function that settles the stored calls of a turn; turns share statements. A fault is
 * reported, and left to the schedulers.
 */
export function createSettleCosts(database: Database): (turnId: TurnId) => Promise<void> {
  const submit = shareStatement('settle-costs', async (turnIds: TurnId[]) => {
    await settleCosts(database, turnIds);
    return turnIds;
  });
  return async (turnId) => {
    try {
      await submit(turnId);
    } catch (error) {
      database.outages.report(error, 'Costs of calls could not be counted; the schedulers try again', { turnId });
    }
  };
}

export const readUnsettledTurns = literalQuery({
  name: 'unsettled-turns',
  purpose: 'Read the turns with stored calls whose reservations have not ended.',
  text: `select distinct r.turn_id as "turnId" from ${STORED_SQL} limit ${TURNS_MAX}`,
  answer: (turns: { turnId: TurnId }[]) => turns.map(({ turnId }) => turnId),
});

/** Settles what processes have left that crashed. */
export async function settleLeftCosts(database: Database): Promise<void> {
  const turnIds = await readUnsettledTurns(database);
  if (turnIds.length > 0) await settleCosts(database, turnIds);
}
