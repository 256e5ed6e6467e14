// The totals that bound what is accepted (G27).
import { sql } from '../../database/drizzle.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { ViewDatabase } from '../../database/page.ts';

/**
 * How many messages wait in all sessions together: read from the sessions that have work, so it
 * costs what those are.
 */
export async function countWaiting(db: ViewDatabase): Promise<number> {
  const result = await db.query<{ count: number }>(sql`
    select coalesce(sum(s.waiting), 0)::int as count
    from holdfast.doorbells d join holdfast.sessions s on s.id = d.session_id`);
  return result.rows[0]?.count ?? 0;
}

/** How many messages of a key of this name are not settled, of those that were counted when they arrived. */
export const countInFlight = viewQuery({
  name: 'count-in-flight',
  purpose: 'Count the messages of a key that are not settled, by the index of them.',
  text: `select count(*)::int as count from holdfast.inbox i
where i.status in ('delayed', 'waiting', 'claimed') and i.counted_for = $1`,
  values: (sentBy: string) => [sentBy],
  answer: ([row]: { count: number }[]) => row?.count ?? 0,
});
