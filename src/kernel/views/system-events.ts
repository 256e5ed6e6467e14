// The system events of a session, oldest first: those that wait for the next prompt, or all with their outcome.
import type { SystemEventView } from '../../contract/views.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';

/** SQL of the event `e` of the session `s`, as JSON. */
export const SYSTEM_EVENT_SQL = `json_build_object('id', e.id, 'sessionKey', s.key, 'text', e.text, 'contextKey', e.context_key,
  'trusted', e.is_trusted, 'state', e.state, 'turnId', e.turn_id, 'dropReason', e.drop_reason,
  'createdAt', ${isoSql('e.created_at')}, 'settledAt', ${isoSql('e.settled_at')})`;

export const readSystemEvents = viewQuery({
  name: 'list-system-events',
  purpose: 'Read a page of the events of a session ($1), oldest first; $2: also those that do not wait.',
  text: `select ${SYSTEM_EVENT_SQL} as event from holdfast.system_events e join holdfast.sessions s on s.id = e.session_id
where e.session_id = $1 and ($2::boolean or e.state = 'queued') and ($3::uuid is null or e.id > $3) order by e.id limit $4`,
  values: (sessionId: string, isAll: boolean, after: string | null, limit: number) => [sessionId, isAll, after, limit],
  answer: (rows: { event: SystemEventView }[]) => rows.map(({ event }) => event),
});

/** The events of a session; only those that wait unless `isAll`. */
export async function listSystemEvents(
  db: ViewDatabase,
  { sessionId, isAll }: { sessionId: string; isAll: boolean },
  page: PageRequest,
): Promise<Page<SystemEventView>> {
  return cutPage(await readSystemEvents(db, sessionId, isAll, page.after, page.limit + 1), page.limit, ({ id }) => id);
}
