// The overview, from the figures that were read: rates, shares, and the minutes as columns for
// charts. Pure.
import { toDollars } from '../../../core/prices.ts';

/** One of the last 60 minutes. */
export interface Minute {
  startsAt: string;
  /** The start in milliseconds since the epoch. */
  startsAtMs: number;
  arrivals: number;
  /**
   * How long the message that had waited longest had waited when a turn took it, in milliseconds.
   */
  longestWaitMs: number;
  turns: number;
  failedTurns: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  costMicros: number;
  isSimulated: boolean;
  /** The most that waited and ran, as the schedulers saw it; null: no scheduler looked. */
  waiting: number | null;
  running: number | null;
  /**
   * The 95th percentiles of those of the measured turns, and of their calls, that ended in this
   * minute; null: there were none.
   */
  firstChunkP95Ms: number | null;
  turnP95Ms: number | null;
}

/** What is true now. */
interface Present {
  nowMs: number;
  /**
   * When the message that waits longest arrived; null: none waits. It was waiting at the ends of
   * the minutes since.
   */
  oldestMs: number | null;
  waiting: number;
  running: number;
}

/** Turns per minute are averaged over this many complete minutes. */
const RATE_MINUTES = 5;

/** Rates and shares of minutes, oldest first, of which the last has not ended. */
export function computeRates(minutes: readonly Minute[]) {
  const sum = (pick: (minute: Minute) => number, of = minutes): number =>
    of.reduce((total, minute) => total + pick(minute), 0);
  const turns = sum((minute) => minute.turns);
  const read = sum((minute) => minute.cacheReadTokens);
  const prompt = read + sum((minute) => minute.inputTokens + minute.cacheWriteTokens);
  const ended = minutes.slice(-RATE_MINUTES - 1, -1);
  return {
    turnsPerMinute: ended.length === 0 ? 0 : sum((minute) => minute.turns, ended) / ended.length,
    successRate: turns === 0 ? null : 1 - sum((minute) => minute.failedTurns) / turns,
    cacheHitRatio: prompt === 0 ? null : read / prompt,
  };
}

/** The minutes as columns, one value for each. `present`: null when the last of them has ended. */
export function toPoints(minutes: readonly Minute[], present: Present | null) {
  const column = <Name extends keyof Minute>(name: Name): Minute[Name][] => minutes.map((minute) => minute[name]);
  /** Samples, of which the last one is at least what is true now. */
  const withPresent = (samples: (number | null)[], now: number | undefined): (number | null)[] =>
    samples.map((sample, at) => (now !== undefined && at === samples.length - 1 ? Math.max(sample ?? 0, now) : sample));
  return {
    startsAt: column('startsAt'),
    waiting: withPresent(column('waiting'), present?.waiting),
    running: withPresent(column('running'), present?.running),
    arrivals: column('arrivals'),
    ends: column('turns'),
    failures: column('failedTurns'),
    oldestWaitMs: minutes.map((minute) => {
      if (present === null) return minute.longestWaitMs;
      const endMs = Math.min(minute.startsAtMs + MINUTE_MS, present.nowMs);
      return Math.max(minute.longestWaitMs, endMs - (present.oldestMs ?? endMs), 0);
    }),
    firstChunkP95Ms: column('firstChunkP95Ms'),
    turnP95Ms: column('turnP95Ms'),
    inputTokens: column('inputTokens'),
    outputTokens: column('outputTokens'),
    cacheReadTokens: column('cacheReadTokens'),
    cacheWriteTokens: column('cacheWriteTokens'),
    costUsd: minutes.map((minute) => toDollars(minute.costMicros) ?? 0),
  };
}

const MINUTE_MS = 60_000;
