// The cost cap of a batch is a budget with the id of the batch, made, changed and removed with it.
import { isFreedSql, isReachedSql } from '../../budgets/store/budgets-sql.ts';
import { BUDGET_REACHED } from '../../budgets/rules/budget.ts';
import { wokenSql } from '../../../kernel/queue/wake-parked.ts';

/**
 * CTEs that bring the cap of batches up to date: `source` has their rows as they are now. What the
 * items that ended before have cost counts. Turns that wait for a cap that has changed are woken,
 * by the CTE `rung_doorbells`.
 */
export const changedCapsSql = (source: string): string => `${startedCapsSql(source)},
changed_caps as (
  update holdfast.budgets b set limit_micros = coalesce(s.max_cost_micros, b.limit_micros), changed_at = clock_timestamp(),
    removed_at = case when s.max_cost_micros is null then clock_timestamp() end
  from ${source} s where b.id = s.id and (s.max_cost_micros is distinct from b.limit_micros or b.removed_at is not null)
  returning b.id
),
${wokenSql([BUDGET_REACHED], 't.park_by in (select id::text from changed_caps)')}`;

/** CTEs that make the caps of batches that have one and had none. */
export const startedCapsSql = (source: string): string => `new_caps as (
  insert into holdfast.budgets (id, origin, scope, per, zone, limit_micros, warn_percent, action, is_strict)
  select s.id, 'batch', 'batch:' || s.id, 'total', 'UTC', s.max_cost_micros, 80, 'pause', false
  from ${source} s where s.max_cost_micros is not null
  on conflict (id) do nothing
  returning id, created_at
),
new_cap_windows as (
  insert into holdfast.budget_windows (budget_id, starts_at, spent_micros)
  select c.id, c.created_at, coalesce(s.cost_micros, 0) from new_caps c join ${source} s on s.id = c.id
)`;

/** A CTE that removes the caps of batches that have ended. */
export const removedCapsSql = (source: string): string => `removed_caps as (
  update holdfast.budgets b set removed_at = clock_timestamp() from ${source} s where b.id = s.id and b.removed_at is null
)`;

/** SQL of whether calls of the batch `alias` were refused by its cap, and still would be. */
export const isCapReachedSql = (alias: string): string => capSql(alias, isReachedSql('cap', 'w'));

/** SQL of whether calls of the batch `alias` were refused by its cap, and would not be any more. */
export const isCapFreedSql = (alias: string): string => capSql(alias, isFreedSql('cap', 'w'));

const capSql = (
  alias: string,
  condition: string,
): string => `exists (select from holdfast.budgets cap join holdfast.budget_windows w on w.budget_id = cap.id
    where cap.id = ${alias}.id and cap.removed_at is null and ${condition})`;
