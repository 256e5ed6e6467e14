// How fast a batch is, and when it is expected to end.

const MS_PER_MINUTE = 60_000;
/** The rate is measured over this many minutes. */
const RATE_MINUTES = 5;
/** The last minutes in which items have ended: enough for the rate, and for how long items take. */
export const MINUTES_READ = 12;
/** A rate is known after this time. */
const RATE_MS_MIN = 5_000;
/** An end is expected after this many items have ended. */
const ENDED_MIN = 5;
/** A provider ends a batch within a day. */
const HOP_MS_MAX = 86_400_000;

/** Items that ended in a minute of the clock. */
export interface EndsOfMinute {
  /** Epoch milliseconds. */
  startsAtMs: number;
  ended: number;
  /** How long their turns took, together; null: not known. */
  busyMs: number | null;
}

/** The ends of a batch that runs, in epoch milliseconds. Minutes without an end are left out. */
export interface RecentEnds {
  minutes: readonly EndsOfMinute[];
  /** When it began, or was last resumed. */
  sinceMs: number;
  nowMs: number;
}

/**
 * A round of calls through the provider, as far as it has come. Times are epoch milliseconds,
 * durations are milliseconds.
 */
export interface HopTimes {
  n: number;
  /** Calls that were submitted, and those of them that were answered. */
  requests: number;
  answered: number;
  /** Its last submission; null: none has been accepted by the provider. */
  lastSubmittedAtMs: number | null;
  /** When all of its calls had ended, in ISO 8601; null: some have not. */
  endedAt: string | null;
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
export function measureRate({ minutes, sinceMs, nowMs }: RecentEnds): number | null {
  const fromMs = Math.max(sinceMs, toMinute(nowMs) - RATE_MINUTES * MS_PER_MINUTE);
  if (nowMs - fromMs < RATE_MS_MIN) return null;
  const ended = sumMinutes(minutes, (minute) => (minute.startsAtMs >= toMinute(fromMs) ? minute.ended : 0));
  return (ended / (nowMs - fromMs)) * MS_PER_MINUTE;
}

/**
 * When the remaining items will have ended: those that wait pass through as many slots as are in
 * use. It does not follow from how many have ended per minute, because in the first minutes those
 * that take long have not ended. At the earliest, items take as long as those that have ended; at
 * the latest, those that have started are halfway on average. `busyMs`: for how long these have
 * run, together. Null before five items have ended, and while neither has one ended lately nor does
 * one run.
 */
export function endBySlots({
  waiting,
  started,
  busyMs,
  recent,
}: {
  waiting: number;
  started: number;
  busyMs: number;
  recent: RecentEnds;
}): ExpectedEnd | null {
  const { nowMs } = recent;
  const minutes = recent.minutes.filter((minute) => minute.busyMs !== null);
  const ended = sumMinutes(minutes, (minute) => minute.ended);
  const left = waiting + started;
  if (left === 0 || ended < ENDED_MIN || (started === 0 && measureRate(recent) === 0)) return null;
  const endedMs = sumMinutes(minutes, (minute) => minute.busyMs ?? 0);
  const isWhole = recent.minutes.length < MINUTES_READ;
  const sinceMs = isWhole ? recent.sinceMs : Math.min(...minutes.map(({ startsAtMs }) => startsAtMs));
  // Short items are rarely seen while they run; of long ones, few have ended.
  const slots = Math.min(left, Math.max(started, endedMs / Math.max(1, nowMs - sinceMs)));
  const after = (itemMs: number): number => nowMs + (slots === 0 ? 0 : Math.max(0, left * itemMs - busyMs) / slots);
  const earliestMs = endedMs / ended;
  const latestMs = Math.max(earliestMs, (endedMs + 2 * busyMs) / (ended + started));
  return { fromMs: after(earliestMs), toMs: after(latestMs) };
}

/**
 * When the rounds that most items need will have ended, if each call takes as long as the
 * submissions so far: from the shortest to the longest. Null before the first submission has ended,
 * and while items are `pending`: they begin with the first round. In order of `n`.
 *
 * Rounds overlap: each has several submissions, and the items of an early one are rounds ahead of
 * those of a late one. The last items decide. They are in the first round that has not ended, and
 * were submitted there last.
 */
export function endByHops(
  hops: readonly HopTimes[],
  { pending, nowMs }: { pending: number; nowMs: number },
): ExpectedEnd | null {
  const shortest = hops.flatMap(({ shortestMs }) => shortestMs ?? []);
  const longest = hops.flatMap(({ longestMs }) => longestMs ?? []);
  if (pending > 0 || shortest.length === 0 || longest.length === 0) return null;
  const open = hops.find(({ endedAt }) => endedAt === null);
  const lastEnded = open === undefined ? (hops.at(-1)?.n ?? 0) : open.n - 1;
  const left = Math.max(1, hopsOfMost(hops) - lastEnded);
  const startedMs = open?.lastSubmittedAtMs ?? nowMs;
  const after = (hopMs: number): number => Math.max(nowMs, startedMs + left * Math.min(HOP_MS_MAX, hopMs));
  return { fromMs: after(Math.min(...shortest)), toMs: after(Math.max(...longest)) };
}

/**
 * The last round that at least half of the items take part in. The share of items that continue
 * after a round is measured on the items that it has answered, because the others may still
 * continue.
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

function sumMinutes(minutes: readonly EndsOfMinute[], read: (minute: EndsOfMinute) => number): number {
  return minutes.reduce((sum, minute) => sum + read(minute), 0);
}

function toMinute(ms: number): number {
  return Math.floor(ms / MS_PER_MINUTE) * MS_PER_MINUTE;
}
