// How fast a batch is, and when it is expected to end.

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

/** A round of calls through the provider, as far as it has come. */
export interface HopTimes {
  n: number;
  requests: number;
  submittedAtMs: number | null;
  endedAtMs: number | null;
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
 * When the rounds that most items need will have ended, if each takes as long as the rounds so far: from the shortest to the longest. Null
 * before the first round has ended, and while items are `pending`: they begin with the first round. In order of `n`.
 */
export function endByHops(
  hops: readonly HopTimes[],
  { pending, nowMs }: { pending: number; nowMs: number },
): ExpectedEnd | null {
  if (pending > 0) return null;
  const times = hops.flatMap(({ submittedAtMs, endedAtMs }) =>
    submittedAtMs === null || endedAtMs === null ? [] : [Math.min(HOP_MS_MAX, endedAtMs - submittedAtMs)],
  );
  if (times.length === 0) return null;
  const lastEnded = Math.max(...hops.filter(({ endedAtMs }) => endedAtMs !== null).map(({ n }) => n));
  const left = Math.max(1, hopsOfMost(hops) - lastEnded);
  const startedMs = hops.find(({ n }) => n === lastEnded + 1)?.submittedAtMs ?? nowMs;
  const after = (hopMs: number): number => Math.max(nowMs, startedMs + left * hopMs);
  return { fromMs: after(Math.min(...times)), toMs: after(Math.max(...times)) };
}

/** The rounds that at least half of the items took part in. */
function hopsOfMost(hops: readonly HopTimes[]): number {
  const [first] = hops;
  if (first === undefined) return 0;
  return Math.max(...hops.filter(({ requests }) => requests * 2 >= first.requests).map(({ n }) => n));
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

/** The smallest value that at least this share of the values does not exceed; undefined: there are none. */
function quantile(values: readonly number[], share: number): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1];
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MS_PER_MINUTE) * MS_PER_MINUTE;
}
