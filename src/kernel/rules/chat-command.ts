// Commands in the text of a message: `/stop`, `/status`, `/usage`, `/help`, `/compact`, `/model`,
// `/think`, `/reasoning` and `/queue`, and the triggers that begin a new session. Only owners may
// give them, or every sender where none is configured; from other senders, and in text that the
// sender has not written (`isWrittenBySender`) or has quoted, they are ordinary text.
//
// A command is alone in its message and is executed when the message is accepted. `/queue` and
// `/think` may also be part of a message: then they apply to that message, and are removed from it.
import { cutHead } from '../../core/text.ts';
import { isOfProgram, isOwner, isWrittenBySender, type InboundMessage } from '../../core/inbound.ts';
import { parseQueueMode, QUEUE_MODES, type QueueDrop, type QueueMode } from '../../core/queue-mode.ts';
import { parseThinkingLevel, THINKING_LEVELS, type ThinkingLevel } from '../../core/models.ts';
import { parseReasoningLevel, REASONING_LEVELS, type ReasoningLevel } from '../../core/reply.ts';

/** What `/queue` sets; null takes the session's own setting away. */
export interface QueueChange {
  queueMode?: QueueMode | null;
  queueDebounceMs?: number | null;
  queueCap?: number | null;
  queueDrop?: QueueDrop | null;
}

export type ChatCommand =
  | { kind: 'stop' }
  | { kind: 'status' }
  | { kind: 'usage' }
  | { kind: 'help' }
  | { kind: 'compact'; instructions: string }
  /** `model` null: show it; `default`: that of the agent. */
  | { kind: 'model'; model: string | null }
  /** `level` null: show it. */
  | { kind: 'think'; level: ThinkingLevel | null }
  | { kind: 'reasoning'; level: ReasoningLevel | null }
  /** `change` null: show the settings. */
  | { kind: 'queue'; change: QueueChange | null }
  /** An invalid command; `reply` names the allowed form. */
  | { kind: 'mistaken'; reply: string };

/** A parsed message: the settings of its directives, and its text without them. */
export interface DirectedMessage {
  text: string;
  mode?: QueueMode;
  thinking?: ThinkingLevel;
}

const INSTRUCTIONS_CHARS_MAX = 800;
const CAP_MAX = 100_000;
const DEBOUNCE_MS_MAX = 3_600_000;
const DROPS: Readonly<Record<string, QueueDrop>> = {
  wait: 'wait',
  old: 'old',
  oldest: 'old',
  new: 'new',
  newest: 'new',
  summarize: 'summarize',
  summary: 'summarize',
};
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * True for a message of a person who may give commands: an owner, or any sender where no owner is
 * configured, or a caller with the API key.
 */
export function mayCommand(message: InboundMessage, ownerIds: readonly string[]): boolean {
  if (isOfProgram(message)) return false;
  return ownerIds.length === 0 || message.sender === undefined || isOwner(message, ownerIds);
}

/** True for a message in which commands count: its sender has written it, and may give them. */
export function hasCommands(message: InboundMessage, ownerIds: readonly string[]): boolean {
  return isWrittenBySender(message) && mayCommand(message, ownerIds);
}

/**
 * The message as it is processed: a command of an authorised sender, or text without its
 * directives.
 */
export function readMessage(
  sent: InboundMessage,
  ownerIds: readonly string[],
): { body: InboundMessage; command: ChatCommand | null } {
  if (!sent.text.includes('/') || !hasCommands(sent, ownerIds)) return { body: sent, command: null };
  const command = readChatCommand(sent.text);
  return command === null ? { body: { ...sent, ...takeDirectives(sent.text) }, command } : { body: sent, command };
}

/** The command that a text is; null when it is something to be answered. */
export function readChatCommand(text: string): ChatCommand | null {
  const [word = '', ...rest] = text.trim().split(/\s+/);
  const name = withoutAddress(word.toLowerCase().replace(/(?<![.!?,:])[.!?,:]+$/, ''));
  switch (name) {
    case '/stop':
      return rest.length === 0 ? { kind: 'stop' } : null;
    case '/status':
      return rest.length === 0 ? { kind: 'status' } : null;
    case '/usage':
      return rest.length === 0 ? { kind: 'usage' } : null;
    case '/help':
      return rest.length === 0 ? { kind: 'help' } : null;
    case '/compact':
      return { kind: 'compact', instructions: cutHead(rest.join(' '), INSTRUCTIONS_CHARS_MAX) };
    case '/model':
      return rest.length > 1 ? null : { kind: 'model', model: rest[0] ?? null };
    case '/think':
    case '/thinking':
      return thinkCommand(rest);
    case '/reasoning':
      return reasoningCommand(rest);
    case '/queue':
      return queueCommand(rest);
    default:
      return null;
  }
}

/** A quoted line; `>>>` begins a quote without an end. */
const QUOTE = /^[ \t]*(?:>>>[^]*|>.*)/gm;

/**
 * Removes `/queue <mode>` and `/think <level>` from a message that has other text. In quotes they
 * are words of others.
 */
export function takeDirectives(text: string): DirectedMessage {
  const queued = takeDirective(text, /(?<=^|\s)\/queue(?:@\w+)?[:\s]+(\S+)(?=\s|$)/i, parseQueueMode);
  const thought = takeDirective(
    queued.text,
    /(?<=^|\s)\/(?:think|thinking|t)(?:@\w+)?[:\s]+(\S+)(?=\s|$)/i,
    parseThinkingLevel,
  );
  return {
    text: thought.text,
    ...(queued.value === null ? {} : { mode: queued.value }),
    ...(thought.value === null ? {} : { thinking: thought.value }),
  };
}

/**
 * True when a message begins a new session: exactly a trigger, or a trigger and the first text of
 * the new session.
 */
export function isReset(text: string, triggers: readonly string[]): boolean {
  const [word = ''] = text.trim().split(/\s+/, 1);
  return triggers.some((trigger) => trigger.toLowerCase() === withoutAddress(word.toLowerCase()));
}

/**
 * A word of a command without the name of the bot, which apps add in groups: `/stop@holdfast_bot`.
 */
function withoutAddress(word: string): string {
  return word.replace(/^(\/\w+)@\w+$/, '$1');
}

function thinkCommand(rest: string[]): ChatCommand | null {
  const [word] = rest;
  if (word === undefined) return { kind: 'think', level: null };
  if (rest.length > 1) return null;
  const level = parseThinkingLevel(word);
  if (level !== null) return { kind: 'think', level };
  return { kind: 'mistaken', reply: `The thinking level "${word}" does not exist. ${THINK_USAGE}` };
}

function reasoningCommand(rest: string[]): ChatCommand | null {
  const [word] = rest;
  if (word === undefined) return { kind: 'reasoning', level: null };
  if (rest.length > 1) return null;
  const level = parseReasoningLevel(word);
  if (level !== null) return { kind: 'reasoning', level };
  return { kind: 'mistaken', reply: `The reasoning level "${word}" does not exist. ${REASONING_USAGE}` };
}

function queueCommand(rest: string[]): ChatCommand | null {
  const [first, ...options] = rest;
  if (first === undefined) return { kind: 'queue', change: null };
  if (['default', 'reset', 'clear'].includes(first.toLowerCase()) && options.length === 0) {
    const change = { queueMode: null, queueDebounceMs: null, queueCap: null, queueDrop: null };
    return { kind: 'queue', change };
  }
  const change: QueueChange = {};
  for (const [index, word] of rest.entries()) {
    const mode = index === 0 ? parseQueueMode(word) : null;
    const set = mode === null ? queueOption(word) : { queueMode: mode };
    if (set === null) {
      // A mode with further text: a message with a directive in it.
      if (index > 0 && change.queueMode !== undefined && !isOption(word)) return null;
      return { kind: 'mistaken', reply: `"${word}" is not valid here. ${QUEUE_USAGE}` };
    }
    Object.assign(change, set);
  }
  return { kind: 'queue', change };
}

function isOption(word: string): boolean {
  return /^(?:debounce|cap|drop)[:=]/i.test(word);
}

function queueOption(word: string): QueueChange | null {
  const [, name = '', value = ''] = /^(debounce|cap|drop)[:=](\S+)$/i.exec(word) ?? [];
  switch (name.toLowerCase()) {
    case 'debounce': {
      const [, amount, unit = 'ms'] = /^(\d{1,9})(ms|s|m|h|d)?$/i.exec(value) ?? [];
      const ms = Number(amount) * (UNIT_MS[unit.toLowerCase()] ?? 1);
      return amount === undefined || ms > DEBOUNCE_MS_MAX ? null : { queueDebounceMs: ms };
    }
    case 'cap': {
      const cap = /^\d{1,9}$/.test(value) ? Number(value) : 0;
      return cap >= 1 && cap <= CAP_MAX ? { queueCap: cap } : null;
    }
    case 'drop': {
      const drop = DROPS[value.toLowerCase()];
      return drop === undefined ? null : { queueDrop: drop };
    }
    default:
      return null;
  }
}

function takeDirective<Value>(
  text: string,
  pattern: RegExp,
  parse: (word: string) => Value | null,
): { text: string; value: Value | null } {
  // As many characters stand for a quote, so that places stay the same.
  const match = pattern.exec(text.replaceAll(QUOTE, (quote) => '>'.repeat(quote.length)));
  const value = match === null ? null : parse(match[1] ?? '');
  if (match === null || value === null) return { text, value: null };
  const before = text.slice(0, match.index).trimEnd();
  const after = text.slice(match.index + match[0].length).trimStart();
  return { text: before === '' || after === '' ? before + after : `${before} ${after}`, value };
}

export const QUEUE_USAGE = `/queue <${QUEUE_MODES.join('|')}> [debounce:<2s>] [cap:<25>] [drop:<wait|old|new|summarize>], or /queue default`;
export const THINK_USAGE = `/think <${THINKING_LEVELS.join('|')}>`;
export const REASONING_USAGE = `/reasoning <${REASONING_LEVELS.join('|')}>`;

/** The text. `resetTriggers`: the messages that begin a new transcript. */
export function chatHelp(resetTriggers: readonly string[]): string {
  const resets = resetTriggers.map((trigger) => `${trigger} [text]`).join(', ');
  return [
    'Commands:',
    '/help: shows this list',
    '/status: shows the model, the settings and the tokens of this session',
    '/usage: shows the tokens and the cost of this session',
    '/stop: ends the running turn and cancels the waiting messages',
    ...(resets === '' ? [] : [`${resets}: begins a new transcript`]),
    '/compact [what to keep in mind]: summarizes the transcript now',
    '/model [provider/model, an alias or "default"]: shows or sets the model of this session',
    `${THINK_USAGE}: sets how much the model thinks; within a message, for that message only`,
    `${REASONING_USAGE}: sets whether the model's thinking is hidden, precedes replies, or is sent as live events`,
    `${QUEUE_USAGE}: sets what a message does when the session is busy; the mode within a message, for that message only`,
  ].join('\n');
}
