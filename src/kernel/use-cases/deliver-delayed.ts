// Delivers the messages whose time has come: from then on they are messages like any other.
import type { InboundMessage } from '../../core/inbound.ts';
import type { NewInput } from '../inbox/new-input.ts';
import { readDueMessages, type DueMessage } from '../inbox/delayed-messages.ts';
import { queuePolicyOf } from './accept-message.ts';
import type { Service } from './service.ts';

/** The dependencies on the scheduler. */
export type DeliverParts = Pick<Service, 'config' | 'database' | 'inbox' | 'publish' | 'waiting'>;

/**
 * Delivers due messages; resolves with the milliseconds until the next one is due, or null.
 * Messages whose session is full are retried.
 */
export async function deliverDue(parts: DeliverParts): Promise<number | null> {
  const { config, database } = parts;
  const { due, nextInMs } = await readDueMessages(database, config.limits.waitingPerSession);
  if (due.length === 0) return nextInMs;
  return (await deliverMessages(parts, due)) === 0 ? nextInMs : 0;
}

/** Delivers these messages now; resolves with how many were. */
export async function deliverMessages(
  { config, inbox, publish, waiting }: DeliverParts,
  due: readonly DueMessage[],
): Promise<number> {
  const delivered = publish(await inbox.deliver(due.map((message) => toInput(config, message))));
  const arrived = delivered.filter(({ isWaiting }) => isWaiting).length;
  if (arrived > 0) waiting.add(arrived);
  return delivered.length;
}

function toInput(config: Service['config'], { id, sessionId, body, route, mode, platformKey }: DueMessage): NewInput {
  return {
    messageId: id,
    sessionId,
    kind: 'message',
    body: JSON.stringify(body),
    route,
    mode,
    platformKey,
    idempotency: null,
    // The store writes only bodies that were checked.
    queue: queuePolicyOf(config, body as InboundMessage),
    waitingMax: config.limits.waitingPerSession,
    priority: (body as InboundMessage).priority,
  };
}
