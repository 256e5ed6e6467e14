// Queue modes: what a message does when its session is busy, and which of the waiting messages the
// next turn claims. In every mode the oldest is claimed first (G3), and only messages of equal
// route share a turn (G6).
import { cutHead } from './text.ts';
import { BLANKS, foldedPattern, foldText, replaceFolded } from '../prompt/fold-text.ts';
import { ownPart, tighten, type PromptPart } from '../prompt/prompt-parts.ts';

export const QUEUE_MODES = [
  'steer',
  'followup',
  'collect',
  'interrupt',
  'steer-backlog',
  'reject',
  'rollback',
] as const;

/** What happens to a message that finds its session busy. */
export type QueueMode = (typeof QUEUE_MODES)[number];

export const QUEUE_DROPS = ['wait', 'summarize', 'old', 'new'] as const;

/**
 * What happens to messages over the cap. `wait`: they wait for the next turn. `summarize` and `old`
 * drop the oldest, with or without a line for each in the next prompt; `new` drops the one that
 * arrived.
 */
export type QueueDrop = (typeof QUEUE_DROPS)[number];

const DEFAULT_QUEUE_MODE: QueueMode = 'collect';

/** The largest number of inputs of one turn, for any cap of the session. */
export const COLLECTED_MESSAGES_MAX = 200;

// The names and what people write instead.
const MODES: Readonly<Record<string, QueueMode>> = {
  steer: 'steer',
  queue: 'steer',
  queued: 'steer',
  followup: 'followup',
  'follow-ups': 'followup',
  followups: 'followup',
  collect: 'collect',
  coalesce: 'collect',
  interrupt: 'interrupt',
  interrupts: 'interrupt',
  abort: 'interrupt',
  'steer-backlog': 'steer-backlog',
  'steer+backlog': 'steer-backlog',
  steer_backlog: 'steer-backlog',
  reject: 'reject',
  rollback: 'rollback',
};

/** The mode that a word means, in any case and with the usual aliases; null when it is none. */
export function parseQueueMode(word: string): QueueMode | null {
  const key = word.trim().toLowerCase();
  return Object.hasOwn(MODES, key) ? (MODES[key] ?? null) : null;
}

/** The largest number of messages that join a turn together, for any cap of the session. */
const STEERS_MAX = 50;

/** What selecting needs to know of an input that waits. */
export interface QueuedInput {
  id: string;
  seq: number;
  /** message, announcement, cron, heartbeat, followup, batch */
  kind: string;
  /** The mode that was decided when it was accepted; null for inputs that are not messages. */
  mode: QueueMode | null;
  route: string;
  body: unknown;
}

/**
 * How much a turn takes: the number of its messages, and the characters of all of them together.
 */
export interface TurnRoom {
  cap: number;
  chars: number;
}

/** Modes whose messages share a turn when nothing took them apart. */
const SHARING: ReadonlySet<QueueMode> = new Set(['collect', 'steer', 'steer-backlog', 'interrupt', 'rollback']);

/**
 * The inputs that the next turn takes: a prefix of those that wait, in the order of their numbers,
 * never empty unless none waits. It is the longest run of messages of one route that may share a
 * turn, or of announcements of one route; a message of mode `followup` or `reject`, one that begins
 * a new session (`isReset`), and anything else is claimed alone. A steering or interrupting message
 * that found no running turn is like a collected one. A turn takes at most `cap` messages, and the
 * first one with as many more as fit into the context of its model; the rest wait for the next
 * turn. The inputs may come in any order and are not changed.
 */
export function selectInputs<Input extends QueuedInput>(
  waiting: readonly Input[],
  { room, isReset }: { room: TurnRoom; isReset: (input: Input) => boolean },
): Input[] {
  const ordered = waiting.toSorted((a, b) => a.seq - b.seq);
  const [first] = ordered;
  if (first === undefined) return [];
  const mayShare = (input: Input): boolean =>
    input.kind === first.kind &&
    input.route === first.route &&
    (input.kind === 'announcement' ||
      (input.kind === 'message' && SHARING.has(input.mode ?? DEFAULT_QUEUE_MODE) && !isReset(input)));
  const breakAt = ordered.findIndex((input) => !mayShare(input));
  const shared = breakAt < 0 ? ordered.length : breakAt;
  const most = first.kind === 'message' ? Math.min(room.cap, COLLECTED_MESSAGES_MAX) : COLLECTED_MESSAGES_MAX;
  const taken = ordered.slice(0, Math.min(Math.max(shared, 1), most));
  // A body is written out to be measured, so not where nothing is decided by it.
  return taken.length === 1 ? taken : taken.slice(0, Math.max(1, fittingCount(taken, room.chars)));
}

/** How many of the first inputs have bodies of at most so many characters together. */
function fittingCount(inputs: readonly QueuedInput[], charsMax: number): number {
  let chars = 0;
  const over = inputs.findIndex(({ body }) => (chars += JSON.stringify(body ?? null).length) > charsMax);
  return over < 0 ? inputs.length : over;
}

/** What joins a running turn, and whether more is left that would have joined it. */
export interface SelectedSteers<Input> {
  inputs: Input[];
  isCut: boolean;
}

/**
 * What joins a running turn: the first waiting messages, as long as their mode is steer and their
 * route is that of the turn; at most `cap` together, and none that does not fit into the context of
 * the turn. The rest joins at the next step, or waits for the next turn.
 */
export function selectSteers<Input extends QueuedInput>(
  waiting: readonly Input[],
  { route, room }: { route: string; room: TurnRoom },
): SelectedSteers<Input> {
  const ordered = waiting.toSorted((a, b) => a.seq - b.seq);
  const steers = (input: Input): boolean =>
    (input.kind === 'message' || input.kind === 'announcement') &&
    input.route === route &&
    (input.mode === 'steer' || input.mode === 'steer-backlog');
  const breakAt = ordered.findIndex((input) => !steers(input));
  const joining = breakAt < 0 ? ordered.length : breakAt;
  const most = Math.min(room.cap, STEERS_MAX);
  const taken = ordered.slice(0, Math.min(joining, most));
  const inputs = taken.slice(0, fittingCount(taken, room.chars));
  return { inputs, isCut: joining >= most || inputs.length < taken.length };
}

// The frame around several inputs that one turn answers together. The title, the numbering and the
// separators are what the model knows; what overflowed is named in addition to the inputs, never in
// place of one (G5).

const TITLES = {
  message: '[Queued messages while agent was busy]',
  announcement: '[Queued announce messages while agent was busy]',
} as const;

const SUMMARY_CHARS_MAX = 160;

/**
 * The messages that were dropped because too many waited: their number, and a line for each that is
 * still known.
 */
export interface Overflow {
  droppedCount: number;
  summaryLines: readonly string[];
}

export interface Collection {
  kind: keyof typeof TITLES;
  /** The parts of each input, oldest first; at least one input. */
  inputs: readonly (readonly PromptPart[])[];
  overflow?: Overflow;
}

/**
 * One prompt for all of them. A single input with nothing dropped is returned as it is. Yields
 * between inputs, because they may be long.
 */
export function* collectParts({ kind, inputs, overflow }: Collection): Generator<undefined, PromptPart[]> {
  const [only] = inputs;
  const hasOverflow = overflow !== undefined && overflow.droppedCount > 0;
  if (only !== undefined && inputs.length === 1 && !hasOverflow) return [...only];
  const collected = [ownPart('queue-frame', TITLES[kind]), ...(hasOverflow ? overflowParts(overflow) : [])];
  for (const [index, parts] of inputs.entries()) {
    collected.push(ownPart('queue-frame', `---\nQueued #${index + 1}`), ...tighten(parts.map(withoutFrame)));
    yield;
  }
  return collected;
}

/**
 * One line that represents a dropped message: its text with whitespace collapsed, cut to 160
 * characters.
 */
export function formatSummaryLine(text: string): string {
  const line = cutHead(text, SUMMARY_CHARS_MAX * 8)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > SUMMARY_CHARS_MAX ? `${cutHead(line, SUMMARY_CHARS_MAX - 1).trimEnd()}…` : line;
}

function overflowParts({ droppedCount, summaryLines }: Overflow): PromptPart[] {
  const noun = droppedCount === 1 ? 'message' : 'messages';
  const title = `[Queue overflow] Dropped ${droppedCount} ${noun} due to cap.`;
  if (summaryLines.length === 0) return [ownPart('queue-overflow', title)];
  const text = summaryLines.map((line) => `- ${formatSummaryLine(line)}`).join('\n');
  return [
    ownPart('queue-overflow', `${title}\nSummary:`),
    { name: 'queue-overflow', origin: 'sender', trust: 'untrusted', text, isTight: true },
  ];
}

const SEPARATOR = foldedPattern(`^${BLANKS}*---(?=${BLANKS}*\\n${BLANKS}*queued${BLANKS}*#${BLANKS}*\\d)`, 'gm');

// A message that contains the separator, or text that looks like it, would look like several
// messages.
function withoutFrame(part: PromptPart): PromptPart {
  return { ...part, text: replaceFolded(foldText(part.text), SEPARATOR, () => '- - -') };
}

// When messages expire. A message may set `expiresAt`; without it, it never expires.

interface Input {
  body: unknown;
}

/**
 * When the last of these inputs expires, in epoch milliseconds; null when one of them never does,
 * or there are none.
 */
export function lastExpiry(inputs: readonly Input[]): number | null {
  const times = inputs.map(readExpiry);
  return times.length === 0 || times.includes(null) ? null : Math.max(...times.map((time) => time ?? 0));
}

/**
 * The first of these inputs that have all expired, or all have not: an expired message shares no
 * turn with one that is to be answered, so that it ends by itself.
 */
export function inputsWithEqualExpiry<One extends Input>(inputs: readonly One[], nowMs: number): One[] {
  const isExpired = (input: One): boolean => (readExpiry(input) ?? Number.POSITIVE_INFINITY) <= nowMs;
  const [first] = inputs;
  if (first === undefined) return [];
  const end = inputs.findIndex((input) => isExpired(input) !== isExpired(first));
  return end === -1 ? [...inputs] : inputs.slice(0, end);
}

function readExpiry({ body }: Input): number | null {
  const { expiresAt } = (body ?? {}) as { expiresAt?: unknown };
  return typeof expiresAt === 'number' ? expiresAt : null;
}
