import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readVia } from '../../../../src/core/inbound.ts';
import { leaveAtMs, leaveMsBeforeDeadline } from '../../../../src/features/provider-batches/rules/leave-lane.ts';

const input = (body: object = {}) => ({ body, receivedAt: 1_000 });
const lane = input({ via: 'provider-batch' });

test.each([
  ['the way of its first input', [lane, input()], 'provider-batch'],
  ['through the provider where it has no others to be compared with', [input({ via: 'auto' })], 'provider-batch'],
  ['not the way of an input that joined it', [input(), lane], 'live'],
  ['live without an input', [], 'live'],
  ['live if its way is not known', [input({ via: 'unheard' })], 'live'],
])('a turn goes %s', (_name, inputs, way) => {
  expect(readVia(inputs)).toBe(way);
});

test.each([
  ['before its deadline', {}, 93_600, 93_600_000 - 900_000],
  ['at half of a short deadline', {}, 60, 30_000],
  ['at its deadline if it then fails', { fallback: 'fail' }, 93_600, 93_600_000],
])('a turn leaves the lane %s', (_name, body, deadlineSeconds, afterMs) => {
  expect(leaveAtMs([input(body)], { deadlineSeconds, leaveMs: 900_000 })).toBe(1_000 + afterMs);
});

const minutes = (count: number) => count * 60_000;
const submissions = (count: number, took: (n: number) => number) => Array.from({ length: count }, (_, n) => took(n));

test.each([
  ['the 95th percentile of how long recent submissions took', submissions(20, (n) => minutes(20 + n)), 38],
  ['30 minutes also if one of twenty took a day', [minutes(1_440), ...submissions(19, () => minutes(30))], 30],
  ['15 minutes before any has ended', [], 15],
  ['15 minutes while fewer than 20 have ended', submissions(19, () => minutes(60)), 15],
  ['15 minutes at least', submissions(20, () => minutes(2)), 15],
  ['two hours at most', submissions(20, () => minutes(1_440)), 120],
])('a turn leaves the lane before its deadline by %s', (_name, tookMs, expected) => {
  expect(leaveMsBeforeDeadline(tookMs)).toBe(minutes(expected));
});

test('a turn leaves the lane 15 minutes to two hours before its deadline, in whatever order submissions have ended', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(minutes(2_880)), { maxLength: 100 }), (tookMs) => {
      const leaveMs = leaveMsBeforeDeadline(tookMs);
      expect(leaveMs).toBeGreaterThanOrEqual(minutes(15));
      expect(leaveMs).toBeLessThanOrEqual(minutes(120));
      expect(leaveMsBeforeDeadline(tookMs.toReversed())).toBe(leaveMs);
    }),
  );
});
