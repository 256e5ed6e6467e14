// The body of an input that Holdfast writes: a tick, a poll. It is stored as an inbound message is, and its other fields are set
// here, not by senders of messages.
import type { InputOptions } from './input-options.ts';
import type { MessageVia } from './inbound.ts';
import type { ThinkingLevel } from './prompt/thinking-directive.ts';

export interface OwnInput {
  text: string;
  /** Where the answer goes; absent: where the configuration says; null: nowhere. */
  deliver?: { url: string } | null;
  /** The channel that the configuration names for it: passed to the receiver of the answer. */
  channel?: string;
  /** For this turn alone. */
  model?: string;
  thinking?: ThinkingLevel;
  /** Absent: live. */
  via?: MessageVia;
  timeoutSeconds?: number;
  /** True: it begins a new transcript, unless the session's is empty. */
  isFresh?: boolean;
  options?: InputOptions;
  /** The cron that fired. */
  cronId?: string;
  /** The system event that it wakes the session for: when an earlier prompt has contained it, the model is not called. */
  eventId?: string;
}
