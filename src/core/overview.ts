// The overview, from the figures that were read: rates, shares, and the minutes as columns for charts. Pure.
import { dollarsOf } from './prices/call-cost.ts';

interface Minute {
  startsAt: string;
  /** The same in milliseconds since the epoch. */
  startsAtMs: number;
  arrivals: number;
  longestWaitMs: number;
  turns: number;
  failedTurns: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  costMicros: number;
}

/** Turns per minute are averaged over this many complete minutes. */
const RATE_MINUTES = 5;

/** Rates and shares of minutes, oldest first, of which the last has not ended. */
export function ratesOf(minutes: readonly Minute[]) {
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

/** The minutes as columns, one value for each. `oldestMs`: when the message that waits longest arrived; it was waiting at the ends of the minutes since. */
export function pointsOf(minutes: readonly Minute[], { nowMs, oldestMs }: { nowMs: number; oldestMs: number | null }) {
  const column = <Value>(pick: (minute: Minute) => Value): Value[] => minutes.map(pick);
  return {
    startsAt: column((minute) => minute.startsAt),
    arrivals: column((minute) => minute.arrivals),
    ends: column((minute) => minute.turns),
    failures: column((minute) => minute.failedTurns),
    oldestWaitMs: column((minute) => {
      const endMs = Math.min(minute.startsAtMs + MINUTE_MS, nowMs);
      return Math.max(minute.longestWaitMs, endMs - (oldestMs ?? endMs), 0);
    }),
    inputTokens: column((minute) => minute.inputTokens),
    outputTokens: column((minute) => minute.outputTokens),
    cacheReadTokens: column((minute) => minute.cacheReadTokens),
    cacheWriteTokens: column((minute) => minute.cacheWriteTokens),
    costUsd: column((minute) => dollarsOf(minute.costMicros) ?? 0),
  };
}

const MINUTE_MS = 60_000;
