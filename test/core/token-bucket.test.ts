// The bounds that a client can rely on, for any rate and any times of requests.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { perMinute, takeOne, type Bucket, type Rate } from '../../src/core/token-bucket.ts';

const rates = fc.record({ size: fc.integer({ min: 1, max: 50 }), refillMs: fc.integer({ min: 1, max: 10_000 }) });
const pauses = fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 200 });

/** Requests after these pauses: when each came, and how long it has to wait. */
function play(rate: Rate, pausesMs: readonly number[]): { atMs: number; waitMs: number }[] {
  let bucket: Bucket | undefined;
  let atMs = 0;
  return pausesMs.map((pauseMs) => {
    atMs += pauseMs;
    const taken = takeOne(bucket, rate, atMs);
    ({ bucket } = taken);
    return { atMs, waitMs: taken.waitMs };
  });
}

test('between any two accepted requests there are no more than the bucket holds and what came back', () => {
  fc.assert(
    fc.property(rates, pauses, (rate, pausesMs) => {
      const accepted = play(rate, pausesMs).filter(({ waitMs }) => waitMs === 0);
      for (const [from, first] of accepted.entries())
        for (const [to, last] of accepted.entries())
          if (to >= from)
            expect(to - from + 1).toBeLessThanOrEqual(rate.size + (last.atMs - first.atMs) / rate.refillMs + 1e-3);
    }),
  );
});

test('a refused request has to wait for one to come back, no longer, and is then accepted', () => {
  fc.assert(
    fc.property(rates, pauses, (rate, pausesMs) => {
      let bucket: Bucket | undefined;
      let atMs = 0;
      for (const pauseMs of pausesMs) {
        atMs += pauseMs;
        const taken = takeOne(bucket, rate, atMs);
        ({ bucket } = taken);
        expect(taken.waitMs).toBeLessThanOrEqual(rate.refillMs);
        if (taken.waitMs > 0) expect(takeOne(bucket, rate, atMs + taken.waitMs).waitMs).toBe(0);
      }
    }),
  );
});

test('refused requests take nothing: the accepted ones are the same without them', () => {
  fc.assert(
    fc.property(rates, pauses, (rate, pausesMs) => {
      const times = play(rate, pausesMs)
        .filter(({ waitMs }) => waitMs === 0)
        .map(({ atMs }) => atMs);
      const alone = play(
        rate,
        times.map((atMs, n) => atMs - (times[n - 1] ?? 0)),
      );
      expect(alone.every(({ waitMs }) => waitMs === 0)).toBe(true);
    }),
  );
});

test('the requests of a minute may come together, and then one after the other', () => {
  const pausesMs = [...Array<number>(61).fill(0), 999, 1, 0];
  expect(play(perMinute(60), pausesMs).map(({ waitMs }) => Math.round(waitMs))).toEqual([
    ...Array<number>(60).fill(0),
    1000,
    1,
    0,
    1000,
  ]);
});
