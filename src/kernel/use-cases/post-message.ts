// Posts to a session without a turn for it: a message of a running turn goes into the outbox, once
// for each tool call, and a system event is queued for the next prompt.
import { channelOfUrl } from '../../core/channel-address.ts';
import type { DeliveryId, SessionKey, SystemEventId } from '../../core/ids.ts';
import { newId } from '../../ids.ts';
import type { NewEvent } from '../events/events.ts';
import { sendMessage, type Posting } from '../inbox/send-message.ts';
import type { Service } from './service.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { enqueueSystemEvent, type QueuedEvent } from '../inbox/system-events.ts';
import { writeToSession } from './accept-message.ts';

export async function postMessage(
  { config, database, publish }: Service,
  message: {
    id: DeliveryId;
    call: { sessionKey: string; turnId: string; idempotencyKey: string };
    url: string;
    payload: object;
  },
): Promise<Posting> {
  const { id, call, url, payload } = message;
  return publish(
    await sendMessage(database, {
      id,
      sessionKey: call.sessionKey,
      turnId: call.turnId,
      causeKey: call.idempotencyKey,
      channel: channelOfUrl(url),
      target: { url },
      payload,
      expiresMs: config.channels.webhook.expiresAfter,
    }),
  );
}

/**
 * Queues a system event for the next prompt of a session, which is created if need be. Resolves
 * after the commit, and rejects as `isKeyTaken` says when another request was first.
 */
export async function enqueueEvent(
  service: Service,
  event: {
    sessionKey: SessionKey;
    text: string;
    contextKey: string | null;
    trusted: boolean;
    idempotency: KeyedRequest | null;
    /** Stored with it, for clients that watch. */
    event?: NewEvent | undefined;
  },
): Promise<QueuedEvent> {
  const { sessionKey, text, contextKey, trusted: isTrusted, idempotency, event: live } = event;
  const id = newId<SystemEventId>();
  return writeToSession(service, { key: sessionKey }, async (sessionId) =>
    service.publish(
      await enqueueSystemEvent(service.database, {
        id,
        sessionId,
        text,
        contextKey,
        isTrusted,
        idempotency,
        event: live,
      }),
    ),
  );
}
