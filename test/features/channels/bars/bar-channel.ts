// What the sweeps of channels ask of a chat platform.
import type { ApiServer, ServerOptions } from '../../../../scripted-platform/api-server.ts';
import type { RecordedCall, RecordedPush } from '../../../../scripted-platform/call-log.ts';

/**
 * A channel of the configuration with one account `main`, and what the sweeps ask of its platform.
 * Chats are numbered.
 */
export interface BarChannel {
  /** Its key below `channels`. */
  name: string;
  settings: Record<string, unknown> & { accounts: { main: object } };
  server: ApiServer;
  chatId: (chat: number) => string;
  /** Makes a direct chat known to the platform. */
  open: (chat: number) => void;
  /** A person writes in it. */
  say: (chat: number, text: string) => void;
  /** What the bot has written in a chat, oldest first. */
  sentIn: (chat: number) => string[];
  sendMethod: string;
  /** The text of a call that sends a message; null: it does something else. */
  textOf: (call: RecordedCall) => string | null;
  /** One part is at most so long, and no two such paragraphs fit into one. */
  paragraphChars: number;
  /**
   * Whether it knows that it has a message when it is sent again: always, for some minutes after it
   * was made, or never.
   */
  knowsRepeats: 'always' | 'minutes' | 'never';
  /** How it refuses a message for ever. */
  refusal: { status: number; description: string };
  /** What has to wait when it says so: a chat, or all of the account. */
  limits: 'chat' | 'account';
  incoming: Incoming;
}

/** How messages come in. */
export interface Incoming {
  /** Connects the platform to the address of the service; absent: the service connects. */
  subscribe?: (url: string) => Promise<unknown>;
  /** Has the next messages sent twice, or in another order; absent: the platform does neither. */
  disturb?: (disorder: { duplicate?: number; reorder?: number }) => void;
  /** Cuts the connection; absent: there is none. */
  cut?: () => void;
  /** How many readers are connected at this moment; absent: none ever is. */
  readers?: () => number;
  /** The text of a message that is pushed; null: it is something else. */
  textOf: (push: Pick<RecordedPush, 'body'>) => string | null;
  /**
   * The account gets the token of a new bot, in its file; absent: positions are not those of bots.
   */
  changeToken?: () => void;
  /**
   * The texts that a call of a reader confirms: the platform drops them. Absent: calls confirm
   * nothing.
   */
  confirmedBy?: (call: RecordedCall) => string[];
  /**
   * True: the platform has handed the text over, and its reader has asked for more since. Absent:
   * it sends again what was not acknowledged.
   */
  isOver?: (text: string) => boolean;
}

export interface BarPlatform {
  channels: BarChannel[];
  close: () => Promise<void>;
}

export type StartOptions = Pick<ServerOptions, 'onCall'>;

export const RECORDED_MAX = 100_000;
/** Of the persons: no small number is one, because a text names chats by theirs. */
export const PERSON = 1_000_000;
