// The system events of a session, oldest first: those that wait for the next prompt, or all with their outcome.
import type { SystemEventView } from '../../contract/views.ts';
import { and, asc, eq, gt } from '../drizzle.ts';
import { systemEvents } from '../schema.ts';
import { isoOf, isoOrNull, pageOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

/** The events of a session; only those that wait unless `isAll`. */
export async function listSystemEvents(
  db: ViewDatabase,
  filter: { session: { id: string; key: string }; isAll: boolean },
  page: PageRequest,
): Promise<Page<SystemEventView>> {
  const rows = await db
    .select()
    .from(systemEvents)
    .where(
      and(
        eq(systemEvents.sessionId, filter.session.id),
        filter.isAll ? undefined : eq(systemEvents.state, 'queued'),
        page.after === null ? undefined : gt(systemEvents.id, page.after),
      ),
    )
    .orderBy(asc(systemEvents.id))
    .limit(page.limit + 1);
  const events = rows.map((row) => ({
    id: row.id,
    sessionKey: filter.session.key,
    text: row.text,
    contextKey: row.contextKey,
    trusted: row.isTrusted,
    // The table's check allows no other.
    state: row.state as SystemEventView['state'],
    turnId: row.turnId,
    dropReason: row.dropReason,
    createdAt: isoOf(row.createdAt),
    settledAt: isoOrNull(row.settledAt),
  }));
  return pageOf(events, page.limit, ({ id }) => id);
}
