import { wakeSql } from './session-locks.ts';

/** SQL that makes turns due that are parked with one of the codes: `condition` selects them by their `t`. The CTE is `rung_doorbells`. */
export const wokenSql = (codes: readonly string[], condition: string): string => `waiters as materialized (
  select t.id, t.session_id from holdfast.turns t
  where t.ended_at is null and t.status = 'parked' and t.park_code in (${codes.map((code) => `'${code}'`).join(', ')}) and ${condition}
),
woken as materialized (
  select s.* from holdfast.sessions s join waiters on waiters.id = s.turn_id
  where s.id = any (array(select session_id from waiters)) order by s.id for no key update of s
),
rung_doorbells as (
  ${wakeSql('woken', 'true')}
)`;
