// Queue modes: what a message asks for that finds its session busy, and which of the waiting messages the next turn takes.
// Whatever the modes say, the oldest is taken first (G3), and only messages of equal route share a turn (G6).

export type QueueMode = 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog' | 'reject' | 'rollback';

const DEFAULT_QUEUE_MODE: QueueMode = 'collect';

/** The most messages that one turn takes together. */
export const COLLECTED_MESSAGES_MAX = 50;

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

/** Where a mode may be set; the first that is set decides. Absent and null both mean: not set here. */
export interface QueueModeSources {
  /** On the message itself. */
  inline?: QueueMode | null;
  /** On the session. */
  session?: QueueMode | null;
  /** The channel of the message, looked up in `byChannel`. */
  channel?: string | null;
  byChannel?: Readonly<Record<string, QueueMode>>;
  global?: QueueMode | null;
}

/** The mode in force: inline, session, channel, global, else `collect`. */
export function resolveQueueMode(sources: QueueModeSources): QueueMode {
  const { inline, session, channel, byChannel, global } = sources;
  const ofChannel = byChannel && channel && Object.hasOwn(byChannel, channel) ? byChannel[channel] : undefined;
  return inline ?? session ?? ofChannel ?? global ?? DEFAULT_QUEUE_MODE;
}

/** What selecting needs to know of an input that waits. */
export interface WaitingInput {
  id: string;
  seq: number;
  /** message, announcement, cron, heartbeat, followup, batch */
  kind: string;
  /** The mode on the message itself; null: none. */
  mode: QueueMode | null;
  route: string;
}

/**
 * The inputs that the next turn takes: a prefix of those that wait, in the order of their numbers, never empty unless none
 * waits. It is the longest run of messages of one route in mode `collect`; anything else is taken alone.
 * `sources` holds what is set beside the messages; they may come in any order and are not changed.
 */
export function selectInputs<Input extends WaitingInput>(
  waiting: readonly Input[],
  sources: Omit<QueueModeSources, 'inline'>,
): Input[] {
  const ordered = waiting.toSorted((a, b) => a.seq - b.seq);
  const [first] = ordered;
  if (first === undefined) return [];
  const isCollected = (input: Input): boolean =>
    input.kind === 'message' &&
    input.route === first.route &&
    resolveQueueMode({ ...sources, inline: input.mode }) === 'collect';
  const breakAt = ordered.findIndex((input) => !isCollected(input));
  const collected = breakAt < 0 ? ordered.length : breakAt;
  return ordered.slice(0, Math.min(Math.max(collected, 1), COLLECTED_MESSAGES_MAX));
}
