import { BUDGET_REACHED } from '../../core/budget/budget.ts';
import { wakeSql } from '../session-locks.ts';

/** SQL that makes the turns due that wait for budgets: `condition` selects them by their `t`. The CTE is `rung_doorbells`. */
export const wokenSql = (condition: string): string => `budget_waiters as materialized (
  select t.id, t.session_id from holdfast.turns t
  where t.ended_at is null and t.status = 'parked' and t.park_code = '${BUDGET_REACHED}' and ${condition}
),
woken as materialized (
  select s.* from holdfast.sessions s join budget_waiters on budget_waiters.id = s.turn_id
  where s.id = any (array(select session_id from budget_waiters)) order by s.id for no key update of s
),
rung_doorbells as (
  ${wakeSql('woken', 'true')}
)`;
