// A new input of a session.
import type { MessageView } from '../../contract/views.ts';
import type { MessageId, SessionId } from '../../core/ids.ts';
import type { QueueDrop, QueueMode } from '../../core/queue-mode.ts';

/** An input on its way into a session that exists. */
export interface NewInput {
  /** Made by the caller, so that a statement that is sent again stores nothing twice. */
  messageId: MessageId;
  sessionId: SessionId;
  kind: MessageView['kind'];
  /** The validated body as JSON text, stored as it is. */
  body: string;
  /** Where it came from and with whose authority; only inputs of equal route are batched (G6). */
  route: string;
  /** The queue mode of the message itself. */
  mode: QueueMode | null;
  /**
   * What holds where neither the message nor the session says otherwise; absent for inputs that no
   * queue mode concerns.
   */
  queue?: { mode: QueueMode; cap: number; drop: QueueDrop };
  /**
   * The answer of a chat command that was executed: the row is inserted as settled. Absent for all
   * other messages.
   */
  commandReply?: string;
  /**
   * Unique without a time limit, e.g. channel, account, chat and platform message id; null when the
   * platform provides none.
   */
  platformKey: string | null;
  /** The key whose messages in flight it counts among; absent or null: none. */
  countedFor?: string | null;
  idempotency: { scope: string; key: string; sha256: string } | null;
  /**
   * The `traceparent` header of its request, when that is valid and trusted; absent: its trace
   * begins with it.
   */
  traceparent?: string;
  /**
   * What the costs of its turn count for, as its body says; absent: it is the first of its kind.
   */
  chargedTo?: object | undefined;
  /** The message's priority among the sessions that wait in its lane; absent: 0. */
  priority?: number | undefined;
  /**
   * The most messages that may wait in this session; over it the input is refused, and nothing is
   * written (G27).
   */
  waitingMax: number;
}
