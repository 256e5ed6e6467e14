// The prompt of a turn: everything that its one user message says. The parts stand in an order that the model relies on, from
// what is furthest from the sender's words to the words themselves; a part that has nothing to say is left out. Built once and
// stored (G13), so equal inputs must give equal bytes.
import { buildCollectPrompt, type Overflow } from '../collect.ts';
import type { InboundMessage } from '../inbound.ts';
import { formatSystemEvents, type SystemEvent } from '../system-event.ts';
import type { EnvelopeZone } from './envelope-time.ts';
import { messageParts, messageText, type MessageOptions, type MessagePrompt } from './message-prompt.ts';
import type { ThinkingLevel } from './thinking-directive.ts';
import { threadNote } from './thread-note.ts';
import { neutralise } from './untrusted-text.ts';

/** What the turn answers. The text of announcements, ticks and polls is Holdfast's own and is passed as it is. */
type PromptKind = 'message' | 'followup' | 'batch' | 'announcement' | 'cron' | 'heartbeat';

export interface UserPromptInput {
  kind: PromptKind;
  /** What was taken together, oldest first, all of one route; at least one. */
  messages: readonly InboundMessage[];
  /** What waited for this session, oldest first. */
  events: readonly SystemEvent[];
  zone: EnvelopeZone;
  /** True in the first turn of a transcript. */
  isNewSession: boolean;
  /** True when the turn before this one was stopped. */
  wasAborted: boolean;
  /** The level set on the session or inline, not the configured default; null: the first word may set it. */
  thinking: ThinkingLevel | null;
  resetTriggers: readonly string[];
  /** Messages that were dropped because too many waited. */
  overflow?: Overflow;
}

export interface UserPrompt {
  /** What the model is sent. */
  text: string;
  /** The level that is set, here or before; null: the default holds. */
  thinking: ThinkingLevel | null;
  /** What was said, without anything that was added around it: for people to read. */
  cleanBody: string;
}

interface Draft {
  input: UserPromptInput;
  parts: readonly MessagePrompt[];
}

const ABORT_HINT = 'Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification.';

/** A part of the prompt; null or empty: nothing to say. */
type PromptPart = (draft: Draft) => string | null;

// The order of the prompt. `content` is the message with its metadata around it, or the frame of several.
const PARTS: readonly PromptPart[] = [media, thread, systemLines, abortHint, content];

const TRUSTED_KINDS: ReadonlySet<PromptKind> = new Set(['announcement', 'cron', 'heartbeat']);

/** The prompt of a turn. Deterministic: it depends on its input alone. */
export function buildUserPrompt(input: UserPromptInput): UserPrompt {
  const draft: Draft = { input, parts: partsOf(input) };
  return {
    text: PARTS.map((part) => part(draft))
      .filter((text) => text !== null && text !== '')
      .join('\n\n'),
    thinking: thinkingOf(draft),
    cleanBody: draft.parts.map(({ body }) => body).join('\n\n'),
  };
}

function partsOf(input: UserPromptInput): MessagePrompt[] {
  if (TRUSTED_KINDS.has(input.kind)) return input.messages.map(asTrusted);
  return input.messages.map((message, index) => messageParts(message, optionsOf(input, message, index)));
}

// Only the first message can begin a session or set the level of the turn.
function optionsOf(input: UserPromptInput, message: InboundMessage, index: number): MessageOptions {
  const isFirst = index === 0;
  return {
    zone: input.zone,
    isNewSession: input.isNewSession && isFirst,
    resetTriggers: input.resetTriggers,
    mayTakeThinking: isFirst && input.thinking === null && message.thinking === undefined,
  };
}

function asTrusted({ text }: InboundMessage): MessagePrompt {
  return { media: null, context: [], body: text, untrusted: null, thinking: null };
}

function thinkingOf({ input, parts }: Draft): ThinkingLevel | null {
  const inline = input.messages.map((message) => message.thinking).find((level) => level !== undefined);
  return inline ?? input.thinking ?? parts[0]?.thinking ?? null;
}

function isSingle({ input, parts }: Draft): boolean {
  return parts.length === 1 && (input.overflow?.droppedCount ?? 0) === 0;
}

// In a frame, each message keeps its files beside it.
function media(draft: Draft): string | null {
  return isSingle(draft) ? (draft.parts[0]?.media ?? null) : null;
}

function thread({ input }: Draft): string | null {
  return input.isNewSession ? threadNote(input.messages[0]?.thread) : null;
}

function systemLines({ input }: Draft): string {
  return formatSystemEvents(input.events, input.zone);
}

function abortHint({ input }: Draft): string | null {
  return input.wasAborted ? ABORT_HINT : null;
}

function content(draft: Draft): string {
  const { input, parts } = draft;
  if (isSingle(draft)) return parts.map(messageText).join('\n\n');
  const prompts = parts.map((part) => [part.media, messageText(part)].filter((text) => text !== null).join('\n\n'));
  const kind = input.kind === 'announcement' ? 'announcement' : 'message';
  const { overflow } = input;
  return buildCollectPrompt({
    kind,
    prompts,
    ...(overflow && { overflow: { ...overflow, summaryLines: overflow.summaryLines.map(neutralise) } }),
  });
}
