// The payload that the outbox passes to a channel, described in docs/deliveries.md. The schema on
// the wire is src/contract/webhooks.ts.
import type { ReplyAddress } from '../kernel/rules/message-route.ts';

export const DELIVERY_TYPES = [
  'reply',
  'message',
  'failure',
  'command',
  'batch',
  'approval.requested',
  'tool.requested',
] as const;

/**
 * `reply`: the answer of a turn. `message`: what an agent says before its turn ends. `failure`: a
 * turn ended without an answer. `command`: the answer to a chat command. `batch`: the end of a
 * batch. `approval.requested`: a tool call waits for an approval. `tool.requested`: a call of an
 * external tool waits for its result.
 */
export type DeliveryType = (typeof DELIVERY_TYPES)[number];

/** A delivery without its id, which the channel adds as `deliveryId`. */
export type DeliveryPayload = ReplyAddress & {
  type: DeliveryType;
  sessionKey: string;
  /** Null for a chat command that no turn carried out. */
  turnId: string | null;
  /** The messages that it answers. */
  messageIds: string[];
  text: string;
  /** Why there is no answer; only of a `failure`. */
  error?: { code: string; message: string };
  /** The platform's id of the message that it quotes. */
  replyToMessageId?: string;
  /** Files to be sent with it; only of a `message`. */
  media?: OutgoingMedia[];
  /** A reaction to a message of the platform, in place of a text; only of a `message`. */
  react?: { emoji: string; messageId: string };
};

/**
 * A file to be sent: where its receiver fetches it, or the absolute path of its copy on the machine
 * of the worker (`src/files/copies.ts`).
 */
export type OutgoingMedia = { url: string } | { path: string; name: string };

/** What people read of a failure. */
export function failureText({ message }: { message: string }): string {
  return `This could not be answered: ${message}`;
}
