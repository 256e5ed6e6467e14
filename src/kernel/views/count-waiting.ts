// The total that bounds what is accepted (G27).
import { sql } from '../../database/drizzle.ts';
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
