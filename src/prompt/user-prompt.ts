// The prompt of a turn: the whole text of its one user message. The parts have a fixed order that
// the model relies on, from the most general to the sender's text itself; empty parts are left out.
// Built once and stored (G13), so equal inputs must give equal bytes.
import { readAnnouncement, announcementParts } from '../core/subagents.ts';
import { hasCommands } from '../kernel/rules/chat-command.ts';
import { collectParts, type Overflow } from '../core/queue-mode.ts';
import type { InboundMessage, Thread } from '../core/inbound.ts';
import { type EnvelopeZone, formatEventTime } from './envelope-time.ts';
import { messageParts, type MessageOptions, type MessagePrompt, type ResetRules } from './message-prompt.ts';
import { joinParts, loosen, ownPart, type PromptPart } from './prompt-parts.ts';
import type { ThinkingLevel } from '../core/models.ts';
import { neutralise } from './untrusted-text.ts';
import { LINE_BREAKS } from './fold-text.ts';

/**
 * The inputs that the turn answers. Text of Holdfast itself (announcements, ticks, polls,
 * compactions) is passed unchanged.
 */
export type PromptKind = 'message' | 'followup' | 'batch' | OwnKind;
type OwnKind = 'announcement' | 'cron' | 'heartbeat' | 'compaction';

export interface UserPromptInput {
  kind: PromptKind;
  /** The inputs of the prompt, oldest first, all of one route; at least one. */
  messages: readonly InboundMessage[];
  /** What waited for this session, oldest first. */
  events: readonly SystemEvent[];
  zone: EnvelopeZone;
  /** True in the first turn of a transcript. */
  isNewSession: boolean;
  /** True when the turn before this one was stopped. */
  wasAborted: boolean;
  /**
   * The level set on the session or inline, not the configured default; null: the first word may
   * set it.
   */
  thinking: ThinkingLevel | null;
  resetTriggers: readonly string[];
  /**
   * Who may give commands; empty: every sender. The first word of other senders does not set a
   * level.
   */
  ownerIds: readonly string[];
  /** When it is built, and the IANA zone of the user. */
  now: ResetRules['now'];
  /** Messages that were dropped because too many waited. */
  overflow?: Overflow;
  /** The description of the channels for a new main session; absent: none. */
  channelLines?: readonly string[];
  /** True when files can be sent back with the `message` tool; absent: they cannot. */
  canSendMedia?: boolean;
  /** See `MessageOptions`. */
  isTranscribing?: boolean;
}

export interface UserPrompt {
  /** The parts of the prompt, in order; `joinParts` makes the text. */
  parts: PromptPart[];
  /** The level that is set, here or before; null: the default holds. */
  thinking: ThinkingLevel | null;
  /** The original text without additions: for people to read. */
  cleanBody: string;
}

interface Draft {
  input: UserPromptInput;
  messages: readonly MessagePrompt[];
}

const ABORT_HINT = 'Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification.';

/** Some parts of the prompt; none: nothing to say. */
type PromptStep = (draft: Draft) => PromptPart[];

// The order of the prompt. After them comes the message with its metadata around it, or the frame
// of several.
const STEPS: readonly PromptStep[] = [media, thread, systemLines, abortHint];

const OWN_KINDS: ReadonlySet<PromptKind> = new Set<OwnKind>(['announcement', 'cron', 'heartbeat', 'compaction']);

/** True for inputs that Holdfast writes, which belong to no chat. */
export function isOwnKind(kind: PromptKind): kind is OwnKind {
  return OWN_KINDS.has(kind);
}

/**
 * The prompt of a turn. Deterministic: it depends on its input alone. Yields between its messages,
 * because they may be long.
 */
export function* buildUserPrompt(input: UserPromptInput): Generator<undefined, UserPrompt> {
  const messages: MessagePrompt[] = [];
  for (const [index, message] of input.messages.entries()) {
    messages.push(writeMessage(input, message, index));
    yield;
  }
  const draft: Draft = { input, messages };
  const content = yield* buildContent(draft);
  return {
    parts: [...STEPS.flatMap((step) => loosen(step(draft))), ...loosen(content)],
    thinking: chooseThinking(draft),
    cleanBody: messages.map(({ cleanBody }) => cleanBody).join('\n\n'),
  };
}

function writeMessage(input: UserPromptInput, message: InboundMessage, index: number): MessagePrompt {
  if (input.kind === 'announcement') return announcementMessage(message);
  if (isOwnKind(input.kind)) return ownMessage(input.kind, message);
  return messageParts(message, buildOptions(input, message, index));
}

// Only the first message can begin a session or set the level of the turn.
function buildOptions(input: UserPromptInput, message: InboundMessage, index: number): MessageOptions {
  const isFirst = index === 0;
  const isNewSession = input.isNewSession && isFirst;
  const mayBegin = isFirst && hasCommands(message, input.ownerIds);
  return {
    zone: input.zone,
    isNewSession,
    reset: input.isNewSession && mayBegin ? { triggers: input.resetTriggers, now: input.now } : null,
    mayTakeThinking: mayBegin && input.thinking === null && message.thinking === undefined,
    canSendMedia: input.canSendMedia ?? false,
    isTranscribing: input.isTranscribing ?? false,
  };
}

function ownMessage(kind: PromptKind, { text }: InboundMessage): MessagePrompt {
  return { media: [], content: [ownPart(kind, text)], cleanBody: text, thinking: null };
}

function announcementMessage(body: InboundMessage): MessagePrompt {
  const announcement = readAnnouncement(body);
  if (announcement === null) return ownMessage('announcement', body);
  const content = announcementParts(announcement);
  return { media: [], content, cleanBody: joinParts(content).text, thinking: null };
}

function chooseThinking({ input, messages }: Draft): ThinkingLevel | null {
  const inline = input.messages.map((message) => message.thinking).find((level) => level !== undefined);
  return inline ?? input.thinking ?? messages[0]?.thinking ?? null;
}

function isSingle({ input, messages }: Draft): boolean {
  return messages.length === 1 && (input.overflow?.droppedCount ?? 0) === 0;
}

// In a frame, each message keeps its own files.
function media(draft: Draft): PromptPart[] {
  return isSingle(draft) ? draft.messages.flatMap((message) => message.media) : [];
}

function thread({ input }: Draft): PromptPart[] {
  return input.isNewSession ? threadPart(input.messages[0]?.thread) : [];
}

function systemLines({ input }: Draft): PromptPart[] {
  const { channelLines = [], events, zone } = input;
  const lines = channelLines.map((line) => `System: ${line}`).join('\n');
  const summary: PromptPart[] =
    lines === '' ? [] : [{ name: 'channel-summary', origin: 'configuration', trust: 'trusted', text: lines }];
  return [...summary, ...eventParts(events, zone)];
}

function abortHint({ input }: Draft): PromptPart[] {
  return input.wasAborted ? [ownPart('abort-hint', ABORT_HINT)] : [];
}

function buildContent(draft: Draft): Generator<undefined, PromptPart[]> {
  const { input, messages } = draft;
  const { overflow } = input;
  const isFramed = !isSingle(draft);
  return collectParts({
    kind: input.kind === 'announcement' ? 'announcement' : 'message',
    inputs: messages.map((message) => [...(isFramed ? message.media : []), ...message.content]),
    ...(overflow && { overflow: { ...overflow, summaryLines: overflow.summaryLines.map(neutralise) } }),
  });
}

/** The thread so far, otherwise the message that began it; absent when neither is known. */
export function threadPart(thread: Thread | undefined): PromptPart[] {
  const history = thread?.historyBody?.trim() ?? '';
  if (history !== '') return [toPart(`[Thread history - for context]\n${neutralise(history)}`)];
  const starter = thread?.starterBody?.trim() ?? '';
  return starter === '' ? [] : [toPart(`[Thread starter - for context]\n${neutralise(starter)}`)];
}

function toPart(text: string): PromptPart {
  return { name: 'thread-note', origin: 'channel', trust: 'untrusted', text };
}

// System events as lines before a prompt. Every line of an event carries the prefix, so that no
// text of an event can imitate something else; heartbeat noise is filtered, and a filtered event is
// consumed, too.

export interface SystemEvent {
  text: string;
  /** When it was queued, epoch milliseconds. */
  createdAt: number;
  /** False for text that came from outside, which is marked in its prefix. */
  isTrusted: boolean;
}

const LINE_BREAK = new RegExp(`\r\n|[${LINE_BREAKS}]`);
const NODE_NOISE = ' · last input ';

/** The text of an event in the prompt, or null when it is noise. */
export function compactSystemEvent(raw: string): string | null {
  const text = raw.trim();
  const lower = text.toLowerCase();
  if (text === '' || lower.includes('reason periodic') || lower.startsWith('read heartbeat.md')) return null;
  if (lower.includes('heartbeat poll') || lower.includes('heartbeat wake')) return null;
  return text.startsWith('Node:') ? withoutLastInput(text) : text;
}

/** The events as parts of a prompt, oldest first, line under line; noise is left out. */
export function eventParts(events: readonly SystemEvent[], zone: EnvelopeZone): PromptPart[] {
  return events
    .map((event): PromptPart => ({
      name: 'system-event',
      origin: event.isTrusted ? 'holdfast' : 'channel',
      trust: event.isTrusted ? 'trusted' : 'untrusted',
      text: formatLines(event, zone).join('\n'),
      isTight: true,
    }))
    .filter(({ text }) => text !== '');
}

// Only the first line carries the time.
function formatLines({ text, createdAt, isTrusted }: SystemEvent, zone: EnvelopeZone): string[] {
  const compacted = compactSystemEvent(text);
  if (compacted === null) return [];
  const prefix = isTrusted ? 'System:' : 'System (untrusted):';
  const shown = isTrusted ? compacted : neutralise(compacted);
  const lines = shown.split(LINE_BREAK).filter((line) => line.trim() !== '');
  return lines.map((line, index) =>
    index === 0 ? `${prefix} [${formatEventTime(createdAt, zone)}] ${line}` : `${prefix} ${line}`,
  );
}

// `Node: gw · last input 3s · ok` is `Node: gw · ok`.
function withoutLastInput(text: string): string {
  const start = text.indexOf(NODE_NOISE);
  if (start < 0) return text;
  const next = text.indexOf('·', start + NODE_NOISE.length);
  return next < 0 ? text.slice(0, start) : `${text.slice(0, start)} ${text.slice(next)}`;
}
