// The way back for turns that are parked. The code and the object of the reason for which a turn
// waits (`park_code`, `park_by`) are its key: `wake` makes due what is parked under a key, and a
// statement that ends waits itself does so with `wokenSql`.
import { literalQuery } from '../../database/literal-query.ts';
import { LASTING_RETRY_MS } from '../../database/passing-faults.ts';
import { wakeSql } from './rings.ts';

/**
 * SQL that makes turns due that are parked with one of the codes: `condition` selects them by their
 * `t`, and may limit them. The CTE is `rung_doorbells`.
 */
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

/**
 * Between two turns that are woken together, in milliseconds: what has waited together must not
 * come back together.
 */
const SPACING_MS = 25;

/** The largest number of turns that are woken together; the others wait until they are due. */
const WOKEN_MAX = 5_000;

/**
 * Makes the turns due that wait under this key, never before the time that they must wait. The
 * reconciler rings for each when its time has come.
 */
export const wake = literalQuery({
  name: 'wake',
  purpose: 'Make the turns due that are parked under a key, one after the other, those that have waited longest first.',
  locking:
    'The doorbells, in the order of their wait. Other statements lock some of them in other orders: after a deadlock it is sent again.',
  text: `with woken as materialized (
  select t.session_id, t.park_not_before, row_number() over (order by t.park_since, t.id) as place
  from holdfast.turns t where t.ended_at is null and t.status = 'parked' and t.park_code = $1 and t.park_by = $2
  order by t.park_since, t.id limit ${WOKEN_MAX}
)
update holdfast.doorbells d
set woken_at = clock_timestamp(), due_at = least(d.due_at, greatest(woken.park_not_before, clock_timestamp() + woken.place * ${SPACING_MS} * interval '1 millisecond'))
from woken where d.session_id = woken.session_id and d.due_at > clock_timestamp() and d.woken_at is null`,
  retryMs: LASTING_RETRY_MS,
  values: ({ code, by }: { code: string; by: string }) => [code, by],
});
