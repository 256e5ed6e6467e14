// What was said in a chat becomes a message of the inbox, and what that means for the platform.
import { UnknownAgentError } from '../../config.ts';
import type { SessionKey } from '../../core/ids.ts';
import type { InboundMessage } from '../../core/inbound.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { acceptMessage, type AcceptResult } from '../../kernel/use-cases/accept-message.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

/** `full`: too many messages wait. What was received must come again; what of it is committed is a duplicate then. */
export type ReceiveResult = { kind: 'done' } | { kind: 'full'; retryAfterMs: number } | { kind: 'lost' };

/** `refused`: it can never be stored. */
export type Stored = ReceiveResult | { kind: 'refused'; message: string };

export const DONE: ReceiveResult = { kind: 'done' };

/** Accepts a message of a chat. */
export async function accept(
  service: Service,
  sessionKey: SessionKey,
  body: InboundMessage,
  idempotency: KeyedRequest | null = null,
): Promise<AcceptResult> {
  try {
    return await acceptMessage(service, { sessionKey, body, idempotency });
  } catch (error) {
    if (error instanceof UnknownAgentError) return { kind: 'refused', message: error.message };
    throw error;
  }
}

export function toStored(result: AcceptResult): Stored {
  switch (result.kind) {
    case 'accepted':
    case 'duplicate':
      return DONE;
    case 'full':
      return result;
    case 'refused':
      return { kind: 'refused', message: result.message };
    case 'mismatch':
      throw new Error('a message was compared with another one of its key');
    default:
      return result satisfies never;
  }
}
