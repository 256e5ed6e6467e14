// Compactions on request, and their undoing. A compaction is an input like a message, because it needs the session's lock and a model.
import { routeOf } from '../core/inbound.ts';
import type { MessageId, SessionId, SessionKey } from '../core/ids.ts';
import { newId } from '../ids.ts';
import type { Acceptance } from '../store/accept-messages.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import { restoreCompaction, type Restoration } from '../store/restore-compaction.ts';
import { findSession } from '../store/views/sessions.ts';
import type { Service } from './service.ts';

/** Accepts the request as an input of the session; `instructions` empty: none. Null: no such session. */
export async function requestCompaction(
  { config, views, inbox, publish }: Service,
  request: { sessionKey: SessionKey; instructions: string; idempotency: KeyedRequest | null },
): Promise<{ sessionId: string; acceptance: Acceptance } | null> {
  const session = await findSession(views, request.sessionKey);
  if (session === null) return null;
  const body = { text: request.instructions };
  const input = {
    messageId: newId<MessageId>(),
    // The view read it from a row of sessions.
    sessionId: session.id as SessionId,
    kind: 'compaction' as const,
    body: JSON.stringify(body),
    route: routeOf(body, config.owner.ids),
    mode: null,
    platformKey: null,
    idempotency: request.idempotency,
    waitingMax: config.limits.waitingPerSession,
  };
  return { sessionId: session.id, acceptance: publish(await inbox.accept(input)) };
}

/** Undoes a compaction of the session. */
export async function undoCompaction(
  { database, publish }: Service,
  compaction: { sessionKey: SessionKey; compactionId: string; idempotency: KeyedRequest | null },
): Promise<Restoration['kind']> {
  return publish(await restoreCompaction(database, compaction)).kind;
}
