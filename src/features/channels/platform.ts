// What a chat platform is to Holdfast: a reader of what people write, and a writer of what agents
// say. A platform neither decides who may write nor keeps anything: what it has read is committed
// by its caller (receive.ts) before it is acknowledged, and what it sends is a row of the outbox.
import type { ChatType, InboundMessage } from '../../core/inbound.ts';

/** Where something was said. The ids are the platform's, never changed by people. */
export interface ChatPlace {
  chatId: string;
  /** A forum topic or a thread; absent: the chat itself. */
  threadId?: string;
  chatType: ChatType;
  /** The server (Discord) or the workspace (Slack) of the chat. */
  guild?: string;
  team?: string;
  /** What people call the chat and the thread: for prompts, never for decisions. */
  subject?: string;
  threadLabel?: string;
}

export interface ChatPerson {
  id: string;
  name?: string;
  username?: string;
  tag?: string;
  e164?: string;
  isBot: boolean;
}

/** A file of a message, which `download` fetches. */
export interface RemoteFile {
  /** How the platform names it. */
  id: string;
  name?: string;
  /** MIME type, as the sender claims. */
  type?: string;
  bytes?: number;
}

interface Said {
  place: ChatPlace;
  sender: ChatPerson;
  /** Epoch milliseconds. */
  at: number;
}

/** A message, or what became of one by an edit. */
export type ReceivedMessage = Said & {
  kind: 'message' | 'edit';
  messageId: string;
  text: string;
  /**
   * True: the sender wrote `text`, all but lines that begin with `>`, when the message was sent.
   * Not of what was forwarded, written by another bot, made from an attachment, or changed
   * afterwards. Absent: not known, so no word of it is a command and all of it counts as words of
   * others.
   */
  isOwnText?: boolean;
  /** It mentions the bot, answers it, or is a command to it by name. */
  isForBot: boolean;
  /** Its text names the bot. Of what another bot says, only this counts. */
  isMentioned?: boolean;
  /** The platform sends a message with several files as several, which have this in common. */
  albumId?: string;
  files: RemoteFile[];
} & Pick<InboundMessage, 'replyTo' | 'forwarded'>;

export type ReceivedReaction = Said & { kind: 'reaction'; messageId: string; emoji: string; isAdded: boolean };

/**
 * A button was pressed; `value` is what the button was sent with, and `pressId` is answered once by
 * `answerPress`.
 */
export type ReceivedPress = Said & { kind: 'press'; messageId: string; pressId: string; value: string };

/**
 * What the platform has sent in a form that is not known; `id` is how it names it. It is logged and
 * left.
 */
export interface ReceivedUnreadable {
  kind: 'unreadable';
  id: string;
  error: unknown;
}

export type Received = ReceivedMessage | ReceivedReaction | ReceivedPress | ReceivedUnreadable;

/** A request of the platform as it came; nothing of it has been trusted or parsed. */
export interface WebhookRequest {
  /** With names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  rawBody: Buffer;
}

/** What a verified request is answered with, once `received` is committed. */
export interface WebhookReading {
  answer: { status: number; type?: string; body?: string };
  received: Received[];
}

/** A file on the machine of the worker that no agent can change. */
export type OutgoingFile = { path: string; name: string; type?: string };

/** One message of the platform. */
export interface OutgoingPart {
  /** Markdown, within the platform's limit once it is converted. */
  markdown: string;
  file?: OutgoingFile;
  /** The platform's id of the message that it answers. */
  replyToMessageId?: string;
  /** A row of buttons. */
  buttons?: { label: string; value: string }[];
  /** The id of the delivery, by which the platform can be asked whether it was sent. */
  deliveryId: string;
}

/** Where a part goes. */
export type Destination = Pick<ChatPlace, 'chatId' | 'threadId'>;

/**
 * How sending failed. `later`: it was not sent and may be tried again, not before `retryAfterMs`.
 * `refused`: the platform will never take it. `unknown`: it may have been sent. `unauthorized`: the
 * token is not valid, or lacks a right.
 */
export class PlatformError extends Error {
  readonly kind: 'later' | 'refused' | 'unknown' | 'unauthorized';
  /** The HTTP status of the platform, if it answered. */
  readonly status: number | null;
  readonly retryAfterMs: number | undefined;
  /** True: the wait is for all chats of the account. */
  readonly isOfAccount: boolean;

  constructor(
    kind: PlatformError['kind'],
    message: string,
    facts: { status?: number | null; retryAfterMs?: number; isOfAccount?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause: facts.cause });
    this.name = 'PlatformError';
    this.kind = kind;
    this.status = facts.status ?? null;
    this.retryAfterMs = facts.retryAfterMs;
    this.isOfAccount = facts.isOfAccount ?? false;
  }
}

/** A file with more bytes than the limit is refused. */
export function tooLarge(bytesMax: number): PlatformError {
  return new PlatformError('refused', `The file is larger than mediaBytesMax (${bytesMax} bytes)`);
}

/**
 * An account of a bot on a platform. Every method that asks the platform rejects with
 * `PlatformError`.
 */
export interface Platform {
  /** The adapter: `telegram`. */
  readonly name: string;
  /**
   * How much one message may hold, in the platform's own count of the converted text: 0 if nothing
   * of it would be seen.
   */
  readonly textLimit: { max: number; measure: (markdown: string) => number };
  /** The bot that the token belongs to. */
  identify: (signal: AbortSignal) => Promise<{ id: string; name: string }>;
  /** Null: the signature is not that of the platform. */
  readWebhook?: (request: WebhookRequest) => Promise<WebhookReading | null>;
  /**
   * Waits for what comes after a position (null: from the oldest that the platform still has). The
   * platform deletes what lies before a position that it is asked with.
   */
  poll?: (position: string | null, signal: AbortSignal) => Promise<{ received: Received[]; position: string | null }>;
  /**
   * Holds a socket until it closes or `signal`. Each delivery is acknowledged when `commit` has
   * resolved, and never when it rejects. `position` is that of the last that was committed, for a
   * resume; `commit` stores the next one.
   */
  listen?: (
    position: string | null,
    commit: (received: Received[], position: string | null) => Promise<void>,
    signal: AbortSignal,
  ) => Promise<void>;
  /** Sends one message; resolves with the platform's id of it. */
  send: (to: Destination, part: OutgoingPart, signal: AbortSignal) => Promise<{ platformId: string }>;
  /** True: some of its messages have an `albumId`. */
  readonly hasAlbums?: boolean;
  /**
   * Whether a part whose sender died was sent: its id, or null. Absent: the platform cannot say.
   */
  findSent?: (to: Destination, deliveryId: string, signal: AbortSignal) => Promise<{ platformId: string } | null>;
  /** True: `findSent` is right about files, too. */
  readonly findsFiles?: boolean;
  /** Replaces a message of the bot, and its buttons. */
  edit?: (
    to: Destination,
    platformId: string,
    part: Pick<OutgoingPart, 'markdown' | 'buttons'>,
    signal: AbortSignal,
  ) => Promise<void>;
  /** Deletes a message of the bot. */
  remove?: (to: Destination, platformId: string, signal: AbortSignal) => Promise<void>;
  react?: (to: Destination, messageId: string, emoji: string, signal: AbortSignal) => Promise<void>;
  showTyping?: (to: Destination, signal: AbortSignal) => Promise<void>;
  answerPress?: (pressId: string, text: string, signal: AbortSignal) => Promise<void>;
  /** Rejects when the file has more than `bytesMax` bytes, whatever `file.bytes` says. */
  download?: (file: RemoteFile, bytesMax: number, signal: AbortSignal) => Promise<{ bytes: Buffer; type?: string }>;
  /**
   * True: what it has read it does not read again. That is committed also when the account was
   * paused meanwhile.
   */
  readonly readsOnce?: boolean;
  /** Shows the sender that a message has become an input of an agent. */
  confirmRead?: (message: ReceivedMessage, signal: AbortSignal) => Promise<void>;
  /**
   * What is wrong with the rights of the bot or its settings on the platform, each with what to do.
   */
  check?: (signal: AbortSignal) => Promise<string[]>;
}

/** What an adapter is made from: the settings of its account, complete, with the secrets read. */
export interface AccountSettings {
  channel: string;
  account: string;
  mode: 'webhook' | 'poll' | 'socket';
  token: string;
  signingSecret?: string;
  secretToken?: string;
  appToken?: string;
  /** Where the platform's API is, when it is not the public one. */
  baseUrl?: string;
}

export type OpenPlatform = (settings: AccountSettings) => Platform;
