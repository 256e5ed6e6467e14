// How fast a batch is and when it is expected to end, from the ends of minutes and from rounds of the provider.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endByHops, endByRate, rateOf, type HopTimes, type RecentEnds } from '../../../src/core/batch/progress.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1, 12, 0);

/** A batch that began at the full minute, with these ends in each of its minutes so far. */
function recent(perMinute: readonly number[], intoMinuteMs = 0): RecentEnds {
  const minutes = perMinute.flatMap((ended, at) => (ended === 0 ? [] : [{ startsAtMs: T0 + at * MINUTE, ended }]));
  return { minutes, sinceMs: T0, nowMs: T0 + perMinute.length * MINUTE + intoMinuteMs };
}

test('the rate is that of the last five minutes', () => {
  expect(rateOf(recent([600, 600, 10, 20, 30, 20, 20]))).toBe(20);
});

test('the rate of a batch that began a few seconds ago is not known, and afterwards is that of its short time', () => {
  expect(rateOf({ minutes: [{ startsAtMs: T0, ended: 40 }], sinceMs: T0, nowMs: T0 + 4_000 })).toBeNull();
  expect(rateOf({ minutes: [{ startsAtMs: T0, ended: 40 }], sinceMs: T0, nowMs: T0 + 20_000 })).toBe(120);
});

test('ends from before a pause do not count', () => {
  const resumed = { ...recent([100, 100, 100, 0, 10]), sinceMs: T0 + 4 * MINUTE };
  expect(rateOf(resumed)).toBe(10);
});

test('a batch that stalls has a rate that falls to zero, and then no expected end', () => {
  expect(rateOf(recent([50, 0, 0, 0, 0]))).toBe(10);
  const stalled = recent([50, ...Array.from({ length: 12 }, () => 0)]);
  expect(rateOf(stalled)).toBe(0);
  expect(endByRate({ left: 100, ended: 50, recent: stalled })).toBeNull();
});

test('the end is expected between the quartiles of the rates of the last ten minutes', () => {
  const ten = recent([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
  const after = (rate: number) => ten.nowMs + (600 / rate) * MINUTE;
  expect(endByRate({ left: 600, ended: 550, recent: ten })).toEqual({ fromMs: after(80), toMs: after(30) });
});

test('a minute without an end counts as the mean, so that the range has an upper bound', () => {
  const bursts = recent([60, 0, 0, 60, 0, 0, 60, 0, 0, 60]);
  expect(endByRate({ left: 240, ended: 240, recent: bursts })).toEqual({
    fromMs: bursts.nowMs + 4 * MINUTE,
    toMs: bursts.nowMs + 10 * MINUTE,
  });
});

test('the end is not expected before 20 items have ended, nor when none is left', () => {
  expect(endByRate({ left: 10, ended: 19, recent: recent([19]) })).toBeNull();
  expect(endByRate({ left: 0, ended: 40, recent: recent([40]) })).toBeNull();
  expect(endByRate({ left: 10, ended: 20, recent: recent([20]) })).toEqual({
    fromMs: T0 + 1.5 * MINUTE,
    toMs: T0 + 1.5 * MINUTE,
  });
});

const HOUR = 3_600_000;

/** A round with one submission. */
const hop = (n: number, requests: number, lastSubmittedAtMs: number, endedAtMs: number | null): HopTimes => {
  const tookMs = endedAtMs === null ? null : endedAtMs - lastSubmittedAtMs;
  const answered = endedAtMs === null ? 0 : requests;
  return { n, requests, answered, lastSubmittedAtMs, endedAtMs, shortestMs: tookMs, longestMs: tookMs };
};

test('rounds through the provider are expected to take as long as those before', () => {
  const hops = [hop(1, 100, T0, T0 + HOUR), hop(2, 90, T0 + HOUR, T0 + 3 * HOUR), hop(3, 60, T0 + 3 * HOUR, null)];
  const nowMs = T0 + 3.5 * HOUR;
  expect(endByHops(hops, { pending: 0, nowMs })).toEqual({ fromMs: T0 + 4 * HOUR, toMs: T0 + 5 * HOUR });
});

test('a round that few items need, or that is late, is expected to end now at the earliest', () => {
  const hops = [hop(1, 100, T0, T0 + HOUR), hop(2, 5, T0 + HOUR, null)];
  expect(endByHops(hops, { pending: 0, nowMs: T0 + 4 * HOUR })).toEqual({ fromMs: T0 + 4 * HOUR, toMs: T0 + 4 * HOUR });
});

test('after the rounds so far, another one is expected to begin now', () => {
  const nowMs = T0 + 2 * HOUR;
  expect(endByHops([hop(1, 100, T0, T0 + HOUR)], { pending: 0, nowMs })).toEqual({
    fromMs: nowMs + HOUR,
    toMs: nowMs + HOUR,
  });
});

test('nothing is expected of the provider before its first submission has ended', () => {
  expect(endByHops([hop(1, 100, T0, null)], { pending: 0, nowMs: T0 + HOUR })).toBeNull();
});

test('nothing is expected of the rounds while items have not begun with the first one', () => {
  const hops = [hop(1, 10_000, T0, T0 + HOUR), hop(2, 9_000, T0 + HOUR, null)];
  expect(endByHops(hops, { pending: 90_000, nowMs: T0 + 2 * HOUR })).toBeNull();
});

test('a call takes a day at most', () => {
  const hops = [hop(1, 10, T0, T0 + 40 * HOUR), hop(2, 10, T0 + 40 * HOUR, null)];
  expect(endByHops(hops, { pending: 0, nowMs: T0 + 41 * HOUR })?.toMs).toBe(T0 + 64 * HOUR);
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
        endedAtMs: ended.length === sent.length ? Math.max(...sent.map((wave) => submittedAt(wave, n + 1))) : null,
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
