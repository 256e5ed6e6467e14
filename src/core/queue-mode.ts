// Queue modes: what a message does when its session is busy, and which of the waiting messages the next turn claims. In
// every mode the oldest is claimed first (G3), and only messages of equal route share a turn (G6).

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
 * What happens to messages over the cap. `wait`: they wait for the next turn. `summarize` and `old` drop the oldest, with or without a
 * line for each in the next prompt; `new` drops the one that arrived.
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

/** How much a turn takes: the number of its messages, and the characters of all of them together. */
export interface TurnRoom {
  cap: number;
  chars: number;
}

/** Modes whose messages share a turn when nothing took them apart. */
const SHARING: ReadonlySet<QueueMode> = new Set(['collect', 'steer', 'steer-backlog', 'interrupt', 'rollback']);

/**
 * The inputs that the next turn takes: a prefix of those that wait, in the order of their numbers, never empty unless none waits. It is
 * the longest run of messages of one route that may share a turn, or of announcements of one route; a message of mode `followup` or
 * `reject`, one that begins a new session (`isReset`), and anything else is claimed alone. A steering or interrupting message that
 * found no running turn is like a collected one. A turn takes at most `cap` messages, and the first one with as many more as fit into the
 * context of its model; the rest wait for the next turn. The inputs may come in any order and are not changed.
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
 * What joins a running turn: the first waiting messages, as long as their mode is steer and their route is that of the turn; at most `cap`
 * together, and none that does not fit into the context of the turn. The rest joins at the next step, or waits for the next turn.
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
