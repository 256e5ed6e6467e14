// An inbound message inside Holdfast: checked and parsed at the edge, stored as it is, never
// changed. Times are epoch milliseconds here, in any form in which they were sent. Optional means
// absent.
import { cutHead } from './text.ts';
import { type CallerRequest, keyOfOptions, readOptions, type InputOptions } from './input-options.ts';
import type { SessionKey } from './ids.ts';
import type { QueueMode } from './queue-mode.ts';
import type { PromptMode } from '../prompt/system-input.ts';
import type { ThinkingLevel } from './models.ts';
import { CACHE_MARKERS, type CacheMarkers } from './cache-markers.ts';

/** The folder of the data directory in which files of messages of chats are kept. */
export const CHANNEL_MEDIA = 'media/channels';

export type ChatType = 'direct' | 'group' | 'channel';

interface Sender {
  id?: string;
  name?: string;
  username?: string;
  tag?: string;
  /** Phone number in E.164, `+15551234567`. */
  e164?: string;
}

interface Group {
  subject?: string;
  channel?: string;
  space?: string;
  members?: string[];
}

/** The message that this one answers. */
interface ReplyTo {
  id?: string;
  senderLabel?: string;
  body?: string;
  isQuote?: boolean;
}

interface ForwardedMessage {
  from?: string;
  type?: string;
  username?: string;
  title?: string;
  signature?: string;
  chatType?: string;
  /** Epoch milliseconds. */
  date?: number;
}

/** An earlier message of the chat that was not sent to the agent as a message. */
interface HistoryMessage {
  sender?: string;
  /** Epoch milliseconds. */
  timestamp?: number;
  body: string;
}

export interface Thread {
  /** The platform's id; absent: its label names it. */
  id?: string;
  label?: string;
  starterBody?: string;
  historyBody?: string;
}

export interface Media {
  path?: string;
  /** MIME type; absent: unknown. */
  type?: string;
  url?: string;
  /** The transcript of audio, if there is one already. */
  transcript?: string;
}

/** Where the reply goes instead of where the configuration says. */
interface DeliverTarget {
  url: string;
}

/** How the model is called: live, in provider batches, or in the cheaper way for each call. */
export const MESSAGE_VIAS = ['live', 'provider-batch', 'auto'] as const;

export type MessageVia = (typeof MESSAGE_VIAS)[number];

/** A run of an evaluation, or a judgement of one: of an item, with a candidate, and which repeat. */
export interface EvaluationRef {
  id: string;
  n: number;
  candidate: number;
  repeat: number;
  /** 0: the run; from 1 on its judgements. */
  part: number;
}

export interface InboundMessage {
  text: string;
  /** The platform's id: unique without a time limit per channel, account and chat. */
  messageId?: string;
  /** Absent: `api`. */
  channel?: string;
  accountId?: string;
  chatId?: string;
  /** Absent: `direct`. */
  chatType?: ChatType;
  provider?: string;
  surface?: string;
  /** Epoch milliseconds. */
  timestamp?: number;
  sender?: Sender;
  group?: Group;
  conversationLabel?: string;
  wasMentioned?: boolean;
  replyTo?: ReplyTo;
  /** The sender passes on the text of another. */
  forwarded?: ForwardedMessage;
  /**
   * False: it is not known that the sender wrote `text` when the message was sent. Absent: known,
   * unless `forwarded`. Set only inside Holdfast.
   */
  isOwnText?: false;
  /**
   * The platform's ids of the messages that it was sent as, its own first. Set only inside
   * Holdfast.
   */
  albumParts?: string[];
  history?: HistoryMessage[];
  thread?: Thread;
  media?: Media[];
  untrustedContext?: string[];
  groupSystemPrompt?: string;
  /**
   * Further instructions of the creator of the session, for the system prompt. Set only inside
   * Holdfast: a request body cannot contain it.
   */
  extraSystemPrompt?: string;
  /** The fields of an OpenAI client's request. Set only inside Holdfast. */
  caller?: CallerRequest;
  /** The plugin that has sent it. Set only inside Holdfast. */
  plugin?: string;
  /**
   * A caller that sees a part of the service has sent it: it is data, whatever name its sender has.
   * Set only inside Holdfast.
   */
  isConfined?: true;
  /** The turn that its turn tries; null: it tries none. Set only inside Holdfast. */
  tryOf?: string | null;
  /** What its turn is of an evaluation. Set only inside Holdfast. */
  evaluation?: EvaluationRef;
  /** Replaces the system prompt. Set only inside Holdfast. */
  systemPrompt?: string;
  /** Absent: as the agent has it. Set only inside Holdfast. */
  promptMode?: PromptMode;
  mode?: QueueMode;
  model?: string;
  thinking?: ThinkingLevel;
  /** Absent: live. */
  via?: MessageVia;
  /** Absent: where the configuration says; null: nowhere. */
  deliver?: DeliverTarget | null;
  /** For its turn and everything that it starts. */
  options?: InputOptions;
  /**
   * Of no use after this time: a message that still waits then fails as `expired`. Epoch
   * milliseconds.
   */
  expiresAt?: number;
  /**
   * Over 0: its session goes before those that wait in its lane; under 0: after all others. Absent:
   * 0.
   */
  priority?: number;
  /** It arrives in its session at this time, as if it were sent then. Epoch milliseconds. */
  deliverAt?: number;
}

export const DEFAULT_CHANNEL = 'api';

/**
 * What a confined message does not have, beside another channel than the default one: the address
 * of a chat, to which a bridge could send its answer, and the words of an operator.
 */
export const OPERATOR_FIELDS = ['accountId', 'chatId', 'thread', 'groupSystemPrompt'] as const;

const STARTER_CHARS_MAX = 200;

/**
 * A text that a program submits has one of these: an OpenAI client, a batch, a plugin, a caller
 * that sees a part of the service, another session; what is tried was read before.
 */
const MARKS_OF_PROGRAMS = ['caller', 'batchId', 'plugin', 'isConfined', 'provenance', 'tryOf'];

/**
 * True for text that a program has submitted. It is data: no word of it is a command, whatever it
 * begins with.
 */
export function isOfProgram(message: object): boolean {
  return MARKS_OF_PROGRAMS.some((mark) => mark in message);
}

/**
 * True for a message whose text its sender wrote; then a word of it can be a command, and it can be
 * the word of an owner. False for what a program submits and for what a person only passes on.
 */
export function isWrittenBySender(message: InboundMessage): boolean {
  return !isOfProgram(message) && message.forwarded === undefined && message.isOwnText !== false;
}

export function channelOf(message: InboundMessage): string {
  return message.channel ?? DEFAULT_CHANNEL;
}

/** True for one-to-one chats; groups and channels are the others. */
export function isDirect(message: InboundMessage): boolean {
  return (message.chatType ?? 'direct') === 'direct';
}

/**
 * True when the sender is one of the owners. Only what the platform vouches for counts (id, phone
 * number), bare or with the channel in front (`telegram:42`); names are chosen by their bearers, and
 * so is all of a confined message.
 */
export function isOwner(message: InboundMessage, ownerIds: readonly string[]): boolean {
  if (message.isConfined === true) return false;
  const { id, e164 } = message.sender ?? {};
  const channel = channelOf(message);
  const claims = [id, e164].filter((claim) => claim !== undefined && claim !== '');
  return claims.some((claim) => ownerIds.includes(`${claim}`) || ownerIds.includes(`${channel}:${claim}`));
}

/**
 * True for an input that an owner has written, or a caller with an API key who names no sender;
 * false for what programs and Holdfast submit or an owner passes on.
 */
export function isOfOwner({ kind, body }: { kind: string; body: unknown }, ownerIds: readonly string[]): boolean {
  const message = body as InboundMessage;
  return (
    kind === 'message' && isWrittenBySender(message) && (message.sender === undefined || isOwner(message, ownerIds))
  );
}

/**
 * True for an input with which the model reads words of others: of a sender who is no owner, of a
 * program, of a text or a part that others have written, or of an agent, whose text may have come
 * from anywhere. Names of people and of groups do not count.
 */
export function hasWordsOfOthers(
  { kind, body }: { kind: string; body: unknown },
  ownerIds: readonly string[],
): boolean {
  if (kind === 'cron' || kind === 'heartbeat') return (body as OwnInput).isOfAgent === true;
  const { history, media, untrustedContext, replyTo, thread } = body as InboundMessage;
  const parts = [history, media, untrustedContext, replyTo?.body, thread?.starterBody, thread?.historyBody];
  return !isOfOwner({ kind, body }, ownerIds) || parts.some((part) => part !== undefined);
}

/**
 * The route of a message as one string: equal strings mean equal channel, account, chat, thread,
 * reply address, sender authority and options. Only messages of equal route may share a turn (G6).
 * Stable: it is stored and compared without a time limit.
 */
export function chooseRoute(message: InboundMessage, ownerIds: readonly string[]): string {
  const options = keyOfOptions(readOptions(message));
  return JSON.stringify([
    channelOf(message),
    message.accountId ?? null,
    message.chatId ?? null,
    formatThreadKey(message.thread),
    isOwner(message, ownerIds) ? 'owner' : 'other',
    // Nowhere is another address than that of the configuration.
    message.deliver === null ? '' : (message.deliver?.url ?? null),
    ...(options === null ? [] : [options]),
  ]);
}

/**
 * The key of a message by the id of its platform, unique without a time limit per channel, account
 * and chat (G2); null without an id. A message without a chat belongs to that of its session.
 */
export function derivePlatformKey(sessionKey: SessionKey, body: InboundMessage): string | null {
  if (body.messageId === undefined) return null;
  return JSON.stringify([
    channelOf(body),
    body.accountId ?? null,
    body.chatId ?? `session:${sessionKey}`,
    body.messageId,
  ]);
}

/** The platform's name for the thread of a message: its id, otherwise its label. */
export function threadIdOf({ thread }: Pick<InboundMessage, 'thread'>): string | undefined {
  return thread?.id ?? thread?.label;
}

// A thread without an id is named by its label, otherwise by the message that began it.
function formatThreadKey(thread: Thread | undefined): string | null {
  if (thread === undefined) return null;
  if (thread.id !== undefined) return `id:${thread.id}`;
  if (thread.label !== undefined) return `label:${thread.label}`;
  const starter = thread.starterBody ?? '';
  return `starter:${starter.length}:${cutHead(starter, STARTER_CHARS_MAX)}`;
}

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
  /** True: an agent made that cron. */
  isOfAgent?: true;
  /**
   * The system event that it wakes the session for: when an earlier prompt has contained it, the
   * model is not called.
   */
  eventId?: string;
}

/** The body of the input that an item of a batch becomes. */
export interface BatchInput extends Omit<InboundMessage, 'deliver'> {
  /** Null: nowhere; the end of the batch is reported in place of its replies. */
  deliver: { url: string } | null;
  /** Its budgets follow from these. */
  batchId: string;
  sentBy?: string;
  /** What happens to such an item near its deadline; absent: it is asked live. */
  fallback?: 'fail';
  /** How its prompts are kept in the provider's cache; absent: as is cheapest. */
  cache?: '1h' | '5m' | 'off';
  /** Why it goes this way, for people; absent: its batch says so. */
  viaReason?: string;
}

// Which turns ask their model in batches of the provider; and the settings of the batch of an item.
// A turn goes the way that its first input asks for: messages that join it later change nothing.

interface Input {
  body: unknown;
}

export type Way = 'live' | 'provider-batch';

/**
 * How the model of a turn is asked. A message with `auto` goes through the provider: only items of
 * a batch have others to be compared with.
 */
export function readVia(inputs: readonly Input[]): Way {
  const { via } = (inputs[0]?.body ?? {}) as { via?: unknown };
  return via === 'provider-batch' || via === 'auto' ? 'provider-batch' : 'live';
}

/**
 * The batch's settings for the requests of its item; a single message has no batch, and is asked
 * live near its deadline.
 */
export function readBatchSettings(inputs: readonly Input[]): {
  batchId: string | null;
  fallback: 'live' | 'fail';
  cache: CacheMarkers;
  /** Why its batch has chosen its way; null: there was no choice. */
  viaReason: string | null;
} {
  const { batchId, fallback, cache, viaReason } = (inputs[0]?.body ?? {}) as Record<string, unknown>;
  return {
    batchId: typeof batchId === 'string' ? batchId : null,
    fallback: fallback === 'fail' ? 'fail' : 'live',
    cache: CACHE_MARKERS.find((markers) => markers === cache) ?? '5m',
    viaReason: typeof viaReason === 'string' ? viaReason : null,
  };
}
