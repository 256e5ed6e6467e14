// Queues a system event for the next prompt of a session, which is created if need be.
import type { SessionKey, SystemEventId } from '../../core/ids.ts';
import { newId } from '../../ids.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { enqueueSystemEvent, type QueuedEvent } from '../inbox/system-events.ts';
import { writeToSession } from './reach-session.ts';
import type { Service } from './service.ts';

/** Queues it; resolves after the commit, and rejects as `isKeyTaken` says when another request was first. */
export async function enqueueEvent(
  service: Service,
  event: {
    sessionKey: SessionKey;
    text: string;
    contextKey: string | null;
    trusted: boolean;
    idempotency: KeyedRequest | null;
  },
): Promise<QueuedEvent> {
  const { sessionKey, text, contextKey, trusted: isTrusted, idempotency } = event;
  const id = newId<SystemEventId>();
  return writeToSession(service, { key: sessionKey }, async (sessionId) =>
    service.publish(
      await enqueueSystemEvent(service.database, { id, sessionId, text, contextKey, isTrusted, idempotency }),
    ),
  );
}
