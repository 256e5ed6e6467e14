// Puts a message of a running turn into the outbox of its session, once for each tool call.
import type { DeliveryId } from '../../core/ids.ts';
import { newId } from '../../ids.ts';
import { sendMessage, type Posting } from '../inbox/send-message.ts';
import type { Service } from './service.ts';

export async function postMessage(
  { config, database, publish }: Service,
  message: { call: { sessionKey: string; turnId: string; idempotencyKey: string }; url: string; payload: object },
): Promise<Posting> {
  const { call, url, payload } = message;
  return publish(
    await sendMessage(database, {
      id: newId<DeliveryId>(),
      sessionKey: call.sessionKey,
      turnId: call.turnId,
      causeKey: call.idempotencyKey,
      channel: 'webhook',
      target: { url },
      payload,
      expiresMs: config.channels.webhook.expiresAfter,
    }),
  );
}
