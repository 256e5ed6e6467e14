// How fast a batch is and when it is expected to end, from the ends of minutes and from rounds of
// the provider.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  endByHops,
  endBySlots,
  MINUTES_READ,
  measureRate,
  type HopTimes,
  type RecentEnds,
} from '../../../../src/features/batches/rules/progress.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1, 12, 0);

/** A batch that began at the full minute, with these ends in each of its minutes so far. */
function recent(perMinute: readonly number[], intoMinuteMs = 0): RecentEnds {
  const minutes = perMinute.flatMap((ended, at) =>
    ended === 0 ? [] : [{ startsAtMs: T0 + at * MINUTE, ended, busyMs: ended * 1_000 }],
  );
  return { minutes, sinceMs: T0, nowMs: T0 + perMinute.length * MINUTE + intoMinuteMs };
}

const started = (afterMs: number): RecentEnds => ({
  ...recent([]),
  minutes: recent([40]).minutes,
  nowMs: T0 + afterMs,
});

test.each<[string, RecentEnds, number | null]>([
  ['is that of the last five minutes', recent([600, 600, 10, 20, 30, 20, 20]), 20],
  ['is not known in the first seconds', started(4_000), null],
  ['is then that of the short time since the batch began', started(20_000), 120],
  ['leaves out ends from before a pause', { ...recent([100, 100, 100, 0, 10]), sinceMs: T0 + 4 * MINUTE }, 10],
])('the rate %s', (_name, ends, rate) => {
  expect(measureRate(ends)).toBe(rate);
});

test('a batch that stalls has a rate that falls to zero, and then no expected end', () => {
  expect(measureRate(recent([50, 0, 0, 0, 0]))).toBe(10);
  const stalled = recent([50, ...Array.from({ length: 12 }, () => 0)]);
  expect(measureRate(stalled)).toBe(0);
  expect(endBySlots({ waiting: 100, started: 0, busyMs: 0, recent: stalled })).toBeNull();
});

test('the end is not expected before five items have ended, nor when none is left, nor from minutes of an older version', () => {
  const progress = { waiting: 10, started: 0, busyMs: 0 };
  expect(endBySlots({ ...progress, recent: recent([4]) })).toBeNull();
  expect(endBySlots({ ...progress, waiting: 0, recent: recent([40]) })).toBeNull();
  const older = recent([40]).minutes.map((minute) => ({ ...minute, busyMs: null }));
  expect(endBySlots({ ...progress, recent: { ...recent([40]), minutes: older } })).toBeNull();
  // Five items a minute, one after the other.
  expect(endBySlots({ ...progress, recent: recent([5]) })).toEqual({ fromMs: T0 + 3 * MINUTE, toMs: T0 + 3 * MINUTE });
});

test('the end of a batch of long items is expected as soon as some have ended, from its slots', () => {
  // Each takes between two and four minutes, and they pass through 16 slots.
  const tookMs = Array.from({ length: 480 }, (_, n) => (120 + ((n * 37) % 120)) * 1_000);
  const minutesOf = (atMinute: number) => {
    const { endsAtMs: _end, ...progress } = batchAt({ tookMs, slots: 16, nowMs: T0 + atMinute * MINUTE });
    const { fromMs = NaN, toMs = NaN } = endBySlots(progress) ?? {};
    return { from: (fromMs - T0) / MINUTE, to: (toMs - T0) / MINUTE };
  };
  expect((batchAt({ tookMs, slots: 16, nowMs: T0 }).endsAtMs - T0) / MINUTE).toBe(91.5);
  // Five of the short ones have ended.
  expect(minutesOf(2.5).from).toBeGreaterThan(45);
  expect(minutesOf(2.5).to).toBeLessThan(135);
  expect(minutesOf(10).from).toBeGreaterThan(80);
  expect(minutesOf(10).to).toBeLessThan(100);
});

test('an end is expected within a factor of two and a half, whatever the slots and the durations of items', () => {
  const world = fc.record({
    slots: fc.integer({ min: 1, max: 100 }),
    shortestMs: fc.integer({ min: 500, max: 30 * MINUTE }),
    spread: fc.double({ min: 1, max: 2, noNaN: true }),
    waves: fc.integer({ min: 15, max: 50 }),
    seed: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 50, maxLength: 50 }),
    part: fc.double({ min: 0, max: 0.7, noNaN: true }),
  });
  fc.assert(
    fc.property(world, ({ slots, shortestMs, spread, waves, seed, part }) => {
      const tookMs = Array.from({ length: slots * waves + 5 }, (_, n) =>
        Math.ceil(shortestMs * (1 + (spread - 1) * (seed[n % seed.length] ?? 0))),
      );
      const { endsAtMs } = batchAt({ tookMs, slots, nowMs: T0 });
      const nowMs = Math.floor(T0 + part * (endsAtMs - T0));
      const { endsAtMs: _end, ...progress } = batchAt({ tookMs, slots, nowMs });
      const expected = endBySlots(progress);
      const ended = progress.recent.minutes.reduce((sum, minute) => sum + minute.ended, 0);
      expect(expected === null).toBe(ended < 5);
      if (expected === null) return;
      const leftMs = endsAtMs - nowMs;
      expect(expected.fromMs - nowMs).toBeGreaterThan(leftMs / 2.5);
      expect(expected.fromMs).toBeLessThanOrEqual(expected.toMs);
      expect(expected.toMs - nowMs).toBeLessThan(leftMs * 2.5);
    }),
  );
});

/** A batch whose items take that long, in order, at a time; and when it will have ended. */
function batchAt({ tookMs, slots, nowMs }: { tookMs: readonly number[]; slots: number; nowMs: number }) {
  const free = Array.from({ length: slots }, () => T0);
  const items = tookMs.map((ms) => {
    const at = free.indexOf(Math.min(...free));
    const startedAtMs = free[at] ?? T0;
    free[at] = startedAtMs + ms;
    return { startedAtMs, endedAtMs: startedAtMs + ms };
  });
  const minutes = new Map<number, { startsAtMs: number; ended: number; busyMs: number }>();
  for (const { startedAtMs, endedAtMs } of items.filter((item) => item.endedAtMs <= nowMs)) {
    const startsAtMs = Math.floor(endedAtMs / MINUTE) * MINUTE;
    const { ended, busyMs } = minutes.get(startsAtMs) ?? { ended: 0, busyMs: 0 };
    minutes.set(startsAtMs, { startsAtMs, ended: ended + 1, busyMs: busyMs + endedAtMs - startedAtMs });
  }
  const running = items.filter(({ startedAtMs, endedAtMs }) => startedAtMs <= nowMs && endedAtMs > nowMs);
  return {
    waiting: items.filter(({ startedAtMs }) => startedAtMs > nowMs).length,
    started: running.length,
    busyMs: running.reduce((sum, { startedAtMs }) => sum + nowMs - startedAtMs, 0),
    recent: {
      minutes: [...minutes.values()].toSorted((a, b) => b.startsAtMs - a.startsAtMs).slice(0, MINUTES_READ),
      sinceMs: T0,
      nowMs,
    },
    endsAtMs: Math.max(...free),
  };
}

const HOUR = 3_600_000;

const isoOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** A round with one submission. */
const hop = (n: number, requests: number, lastSubmittedAtMs: number, endedAtMs: number | null): HopTimes => {
  const tookMs = endedAtMs === null ? null : endedAtMs - lastSubmittedAtMs;
  const answered = endedAtMs === null ? 0 : requests;
  const endedAt = isoOf(endedAtMs);
  return { n, requests, answered, lastSubmittedAtMs, endedAt, shortestMs: tookMs, longestMs: tookMs };
};

const after = (hours: number): number => T0 + hours * HOUR;
const first = hop(1, 100, T0, after(1));
const three = [first, hop(2, 90, after(1), after(3)), hop(3, 60, after(3), null)];
const late = [first, hop(2, 5, after(1), null)];
const begun = [hop(1, 10_000, T0, after(1)), hop(2, 9_000, after(1), null)];

test.each<[string, HopTimes[], { hours: number; pending?: number }, [number, number] | null]>([
  ['as long as those before', three, { hours: 3.5 }, [4, 5]],
  ['until now at the earliest, if few items need it or it is late', late, { hours: 4 }, [4, 4]],
  ['from now on, if it follows those so far', [first], { hours: 2 }, [3, 3]],
  ['not known before the first submission has ended', [hop(1, 100, T0, null)], { hours: 1 }, null],
  ['not known while items have not begun', begun, { hours: 2, pending: 90_000 }, null],
])('a round through the provider is expected to take %s', (_name, hops, { hours, pending = 0 }, range) => {
  const [from, to] = range ?? [];
  const expected = range === null ? null : { fromMs: after(from!), toMs: after(to!) };
  expect(endByHops(hops, { pending, nowMs: after(hours) })).toEqual(expected);
});

test('a call takes a day at most', () => {
  const hops = [hop(1, 10, T0, after(40)), hop(2, 10, after(40), null)];
  expect(endByHops(hops, { pending: 0, nowMs: after(41) })?.toMs).toBe(after(64));
});

describe('rounds that overlap', () => {
  /** Items that are submitted together in each of their rounds. */
  interface Wave {
    items: number;
    startsAtMs: number;
    /** How long each of its calls takes. */
    tookMs: number[];
  }

  const submittedAt = ({ startsAtMs, tookMs }: Wave, n: number): number =>
    tookMs.slice(0, n - 1).reduce((at, ms) => at + ms, startsAtMs);

  /** The rounds as they are stored at a time. */
  function hopsAt(waves: readonly Wave[], nowMs: number): HopTimes[] {
    const rounds = Math.max(...waves.map(({ tookMs }) => tookMs.length));
    return Array.from({ length: rounds }, (_, at) => at + 1).flatMap((n) => {
      const sent = waves.filter((wave) => n <= wave.tookMs.length && submittedAt(wave, n) <= nowMs);
      const ended = sent.filter((wave) => submittedAt(wave, n + 1) <= nowMs);
      const took = ended.map(({ tookMs }) => tookMs[n - 1] ?? 0);
      const itemsOf = (some: readonly Wave[]) => some.reduce((sum, { items }) => sum + items, 0);
      if (sent.length === 0) return [];
      return {
        n,
        requests: itemsOf(sent),
        answered: itemsOf(ended),
        lastSubmittedAtMs: Math.max(...sent.map((wave) => submittedAt(wave, n))),
        endedAt: ended.length === sent.length ? isoOf(Math.max(...sent.map((wave) => submittedAt(wave, n + 1)))) : null,
        shortestMs: took.length === 0 ? null : Math.min(...took),
        longestMs: took.length === 0 ? null : Math.max(...took),
      };
    });
  }

  test('end when the last submission has passed its rounds, not after a round of all of them for each', () => {
    // Ten submissions, one an hour. The first round lasts ten hours, and each call of it one.
    const waves = Array.from({ length: 10 }, (_, n) => ({
      items: 10_000,
      startsAtMs: T0 + n * HOUR,
      tookMs: [HOUR, HOUR, HOUR],
    }));
    for (const hours of [9, 9.5, 10, 10.5, 11.9]) {
      const nowMs = T0 + hours * HOUR;
      expect(endByHops(hopsAt(waves, nowMs), { pending: 0, nowMs })).toEqual({
        fromMs: T0 + 12 * HOUR,
        toMs: T0 + 12 * HOUR,
      });
    }
  });

  test('are counted from the items that have been answered, also while few have come far', () => {
    const waves = [
      { items: 1_000, startsAtMs: T0, tookMs: [HOUR, HOUR, HOUR] },
      { items: 9_000, startsAtMs: T0, tookMs: [3 * HOUR, HOUR, HOUR] },
    ];
    const nowMs = T0 + 2.5 * HOUR;
    expect(endByHops(hopsAt(waves, nowMs), { pending: 0, nowMs })).toEqual({
      fromMs: T0 + 3 * HOUR,
      toMs: T0 + 3 * HOUR,
    });
  });

  test('end in the expected range, if calls take as long as calls before them', () => {
    const [shortest, longest] = [HOUR, 5 * HOUR];
    const rounds = fc.integer({ min: 1, max: 5 });
    const world = rounds.chain((count) =>
      fc.record({
        waves: fc.array(
          fc.record({
            items: fc.integer({ min: 1, max: 10_000 }),
            startsAtMs: fc.integer({ min: T0, max: T0 + 4 * HOUR }),
            tookMs: fc.array(fc.integer({ min: shortest, max: longest }), { minLength: count, maxLength: count }),
          }),
          { minLength: 1, maxLength: 6 },
        ),
        part: fc.double({ min: 0, max: 0.999, noNaN: true }),
      }),
    );
    fc.assert(
      fc.property(world, ({ waves, part }) => {
        // All have begun, and none of the rounds so far is over for all.
        const begunMs = Math.max(...waves.map(({ startsAtMs }) => startsAtMs));
        const doneMs = Math.max(...waves.map((wave) => submittedAt(wave, wave.tookMs.length + 1)));
        const nowMs = Math.floor(begunMs + part * (doneMs - begunMs));
        const [first, ...others] = hopsAt(waves, nowMs);
        const hops = [{ ...first!, shortestMs: shortest, longestMs: longest }, ...others];
        const endsAtMs = Math.max(...waves.map((wave) => submittedAt(wave, hops.length + 1)));
        const expected = endByHops(hops, { pending: 0, nowMs });
        expect(expected?.fromMs).toBeLessThanOrEqual(endsAtMs);
        expect(expected?.toMs).toBeGreaterThanOrEqual(endsAtMs);
      }),
    );
  });
});
