// The system events of a session, oldest first: those that wait for the next prompt, or all with
// their outcome.
import type { SystemEventView } from '../../contract/views.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { listOf } from '../../database/list-of.ts';

/** SQL of the event `e` of the session `s`, as JSON. */
export const SYSTEM_EVENT_SQL = `json_build_object('id', e.id, 'sessionKey', s.key, 'text', e.text, 'contextKey', e.context_key,
  'trusted', e.is_trusted, 'state', e.state, 'turnId', e.turn_id, 'dropReason', e.drop_reason,
  'createdAt', ${isoSql('e.created_at')}, 'settledAt', ${isoSql('e.settled_at')})`;

interface SystemEventFilter {
  sessionId: string;
  /** Absent: also those that were consumed or dropped. */
  isQueued?: true | undefined;
}

export const systemEvents = listOf<SystemEventFilter, { event: SystemEventView }, SystemEventView>({
  name: 'list-system-events',
  purpose: 'Read the events of a session, oldest first.',
  text: `select ${SYSTEM_EVENT_SQL} as event
from holdfast.system_events e join holdfast.sessions s on s.id = e.session_id`,
  where: 'e.session_id = $sessionId',
  filters: { isQueued: "e.state = 'queued'" },
  order: 'e.id asc',
  show: ({ event }) => event,
});
