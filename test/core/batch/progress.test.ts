// How fast a batch is and when it is expected to end, from the ends of minutes and from rounds of the provider.
import { expect, test } from 'vitest';
import { endByHops, endByRate, rateOf, type RecentEnds } from '../../../src/core/batch/progress.ts';

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
const hop = (n: number, requests: number, submittedAtMs: number | null, endedAtMs: number | null) => ({
  n,
  requests,
  submittedAtMs,
  endedAtMs,
});

test('rounds through the provider are expected to take as long as those before', () => {
  const hops = [hop(1, 100, T0, T0 + HOUR), hop(2, 90, T0 + HOUR, T0 + 3 * HOUR), hop(3, 60, T0 + 3 * HOUR, null)];
  const nowMs = T0 + 3.5 * HOUR;
  expect(endByHops(hops, { pending: 0, nowMs })).toEqual({ fromMs: T0 + 4 * HOUR, toMs: T0 + 5 * HOUR });
});

test('a round that few items need, or that is late, is expected to end now at the earliest', () => {
  const hops = [hop(1, 100, T0, T0 + HOUR), hop(2, 5, T0 + HOUR, null)];
  expect(endByHops(hops, { pending: 0, nowMs: T0 + 4 * HOUR })).toEqual({ fromMs: T0 + 4 * HOUR, toMs: T0 + 4 * HOUR });
});

test('nothing is expected of the provider before its first round has ended', () => {
  expect(endByHops([hop(1, 100, T0, null)], { pending: 0, nowMs: T0 + HOUR })).toBeNull();
});

test('nothing is expected of the rounds while items have not begun with the first one', () => {
  const hops = [hop(1, 10_000, T0, T0 + HOUR), hop(2, 9_000, T0 + HOUR, null)];
  expect(endByHops(hops, { pending: 90_000, nowMs: T0 + 2 * HOUR })).toBeNull();
});

test('a round takes a day at most', () => {
  const hops = [hop(1, 10, T0, T0 + 40 * HOUR), hop(2, 10, T0 + 40 * HOUR, null)];
  expect(endByHops(hops, { pending: 0, nowMs: T0 + 41 * HOUR })?.toMs).toBe(T0 + 64 * HOUR);
});
