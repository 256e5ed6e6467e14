// The body of an input in Holdfast's own words: a tick, a poll. It is stored as an inbound message is, and what it may say beside its
// text is decided here and not by whoever sends messages.
import type { ThinkingLevel } from './prompt/thinking-directive.ts';

export interface OwnInput {
  text: string;
  /** Where the answer goes; absent: where the configuration says; null: nowhere. */
  deliver?: { url: string } | null;
  /** The channel that the configuration names for it: told to whoever takes the answer. */
  channel?: string;
  /** For this turn alone. */
  model?: string;
  thinking?: ThinkingLevel;
  timeoutSeconds?: number;
  /** True: it begins a new transcript, unless the session's is empty. */
  isFresh?: boolean;
  /** The cron that fired. */
  cronId?: string;
  /** The system event that it wakes the session for: when another prompt has told of it already, nothing is asked. */
  eventId?: string;
}
