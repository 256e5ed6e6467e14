// The schedulers look for turns that wait for a budget which is not reached, and not for a short time: the calls that had reserved the rest have
// cost less, or the turn has missed the wake of a change, because it was refused just before and parked just after it.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import { BUDGET_REACHED } from '../rules/budget.ts';
import type { Database } from '../../../database/database.ts';
import { sendQuery } from '../../../database/send-query.ts';
import { afterOfRings, RINGS_SQL, type NeededRing } from '../../../kernel/sessions/session-locks.ts';
import { literal } from '../../../database/statement.ts';
import { wokenSql } from '../../../kernel/queue/wake-parked.ts';
import { isReachedSql } from './reached-sql.ts';

const WOKEN_MAX = 500;

/** Shorter waits end by themselves. */
const SHORT_WAIT = '10 minutes';

export const WAKE_BUDGET_WAITERS = literal({
  name: 'wake-budget-waiters',
  purpose: 'Make the turns due that wait for a budget that has room again or is gone. Answers their rings.',
  locking: 'The session rows in the order of their ids.',
  text: `with ${wokenSql(
    [BUDGET_REACHED],
    `not exists (select from holdfast.doorbells d where d.session_id = t.session_id and d.due_at < clock_timestamp() + interval '${SHORT_WAIT}')
    and not exists (select from holdfast.budgets b join holdfast.budget_windows w on w.budget_id = b.id
      where b.id = t.park_by::uuid and b.removed_at is null and w.starts_at <= clock_timestamp()
        and (w.ends_at is null or w.ends_at > clock_timestamp()) and ${isReachedSql('b', 'w')})
  limit ${WOKEN_MAX}`,
  )}
select ${RINGS_SQL} as rings`,
});

/** Wakes them; resolves with how many there were. */
export async function wakeBudgetWaiters(database: Database): Promise<Committed<{ woken: number }>> {
  const [row] = await sendQuery<{ rings: NeededRing[] }>(database.hot, WAKE_BUDGET_WAITERS.prepared([]));
  const needed = row?.rings ?? [];
  return { woken: needed.length, after: afterOfRings(needed) };
}
