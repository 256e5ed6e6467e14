// How fast a batch is, and when it is expected to end.
import { quantile } from '../quantile.ts';

const MS_PER_MINUTE = 60_000;
/** The rate is measured over this many minutes, its range over twice as many. */
const RATE_MINUTES = 5;
export const RANGE_MINUTES = 10;
/** A rate is known after this time. */
const RATE_MS_MIN = 5_000;
/** An end is expected after this many items have ended. */
const ENDED_MIN = 20;
/** A minute counts in the range if at least half of it has been measured. */
const SAMPLE_MS_MIN = 30_000;
/** A provider ends a batch within a day. */
const HOP_MS_MAX = 86_400_000;

/** Items that ended in a minute of the clock. */
export interface EndsOfMinute {
  /** Epoch milliseconds. */
  startsAtMs: number;
  ended: number;
}

/** The ends of a batch that runs, in epoch milliseconds. Minutes without an end are left out. */
export interface RecentEnds {
  minutes: readonly EndsOfMinute[];
  /** When it began, or was last resumed. */
  sinceMs: number;
  nowMs: number;
}

/** A round of calls through the provider, as far as it has come. Times are epoch milliseconds, durations are milliseconds. */
export interface HopTimes {
  n: number;
  /** Calls that were submitted, and those of them that were answered. */
  requests: number;
  answered: number;
  /** Its last submission; null: none has been accepted by the provider. */
  lastSubmittedAtMs: number | null;
  /** When all of its calls had ended; null: some have not. */
  endedAtMs: number | null;
  /** The shortest and the longest of its submissions that have ended; null: none has. */
  shortestMs: number | null;
  longestMs: number | null;
}

/** Epoch milliseconds. */
export interface ExpectedEnd {
  fromMs: number;
  toMs: number;
}

/** Ended items per minute over the last five minutes; null in the first seconds. */
export function rateOf(recent: RecentEnds): number | null {
  return rateOver(recent, RATE_MINUTES);
}

/**
 * When the remaining items will have ended, from the lower to the upper quartile of the rates of the last ten minutes. Null before 20 items
 * have ended, and when none has ended lately.
 */
export function endByRate({
  left,
  ended,
  recent,
}: {
  left: number;
  ended: number;
  recent: RecentEnds;
}): ExpectedEnd | null {
  if (left <= 0 || ended < ENDED_MIN) return null;
  const mean = rateOver(recent, RANGE_MINUTES);
  if (mean === null || mean === 0) return null;
  const rates = ratesByMinute(recent);
  const after = (rate: number): number => recent.nowMs + (left / (rate > 0 ? rate : mean)) * MS_PER_MINUTE;
  const ends = [after(quantile(rates, 0.75) ?? mean), after(quantile(rates, 0.25) ?? mean)];
  return { fromMs: Math.min(...ends), toMs: Math.max(...ends) };
}

/**
 * When the rounds that most items need will have ended, if each call takes as long as the submissions so far: from the shortest to the longest.
 * Null before the first submission has ended, and while items are `pending`: they begin with the first round. In order of `n`.
 *
 * Rounds overlap: each has several submissions, and the items of an early one are rounds ahead of those of a late one. The last items decide.
 * They are in the first round that has not ended, and were submitted there last.
 */
export function endByHops(
  hops: readonly HopTimes[],
  { pending, nowMs }: { pending: number; nowMs: number },
): ExpectedEnd | null {
  const shortest = hops.flatMap(({ shortestMs }) => shortestMs ?? []);
  const longest = hops.flatMap(({ longestMs }) => longestMs ?? []);
  if (pending > 0 || shortest.length === 0 || longest.length === 0) return null;
  const open = hops.find(({ endedAtMs }) => endedAtMs === null);
  const lastEnded = open === undefined ? (hops.at(-1)?.n ?? 0) : open.n - 1;
  const left = Math.max(1, hopsOfMost(hops) - lastEnded);
  const startedMs = open?.lastSubmittedAtMs ?? nowMs;
  const after = (hopMs: number): number => Math.max(nowMs, startedMs + left * Math.min(HOP_MS_MAX, hopMs));
  return { fromMs: after(Math.min(...shortest)), toMs: after(Math.max(...longest)) };
}

/**
 * The last round that at least half of the items take part in. The share of items that continue after a round is measured on the items that it
 * has answered, because the others may still continue.
 */
function hopsOfMost(hops: readonly HopTimes[]): number {
  let most = 0;
  let part = 1;
  for (const [at, { n, requests }] of hops.entries()) {
    const before = hops[at - 1];
    if (before !== undefined) part *= Math.min(1, requests / Math.max(1, before.answered));
    if (part >= 0.5) most = n;
  }
  return most;
}

function rateOver({ minutes, sinceMs, nowMs }: RecentEnds, count: number): number | null {
  const fromMs = Math.max(sinceMs, minuteOf(nowMs) - count * MS_PER_MINUTE);
  if (nowMs - fromMs < RATE_MS_MIN) return null;
  const ended = minutes.reduce((sum, minute) => (minute.startsAtMs >= minuteOf(fromMs) ? sum + minute.ended : sum), 0);
  return (ended / (nowMs - fromMs)) * MS_PER_MINUTE;
}

function ratesByMinute({ minutes, sinceMs, nowMs }: RecentEnds): number[] {
  const endedIn = new Map(minutes.map(({ startsAtMs, ended }) => [startsAtMs, ended]));
  const starts = Array.from({ length: RANGE_MINUTES + 1 }, (_, back) => minuteOf(nowMs) - back * MS_PER_MINUTE);
  return starts.flatMap((startMs) => {
    const measuredMs = Math.min(nowMs, startMs + MS_PER_MINUTE) - Math.max(sinceMs, startMs);
    return measuredMs < SAMPLE_MS_MIN ? [] : [((endedIn.get(startMs) ?? 0) / measuredMs) * MS_PER_MINUTE];
  });
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MS_PER_MINUTE) * MS_PER_MINUTE;
}
