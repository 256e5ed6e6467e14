import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  laneRoundMs,
  pollAgainMs,
  decideRefusal,
  isDefinite,
  findCandidates,
  decideSearch,
  searchAgainMs,
  type ListedBatch,
} from '../../../../src/features/provider-batches/rules/submission.ts';

const listed: fc.Arbitrary<ListedBatch> = fc.record({
  id: fc.string({ minLength: 1, maxLength: 4 }),
  createdAtMs: fc.integer({ min: -500_000, max: 900_000 }),
  requestCount: fc.integer({ min: 1, max: 3 }),
  hasEnded: fc.boolean(),
});

describe('the search for a submission', () => {
  test('never leaves the submission itself out, however far the clocks are apart', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -7_200_000, max: 7_200_000 }),
        fc.integer({ min: 0, max: 300_000 }),
        fc.integer({ min: -1_000, max: 1_000 }),
        (skewMs, tookMs, errorMs) => {
          const own: ListedBatch = {
            id: 'own',
            createdAtMs: 1_000_000 + tookMs + skewMs,
            requestCount: 8,
            hasEnded: false,
          };
          const submission = { requestCount: 8, startedAtMs: 1_000_000, knownIds: new Set<string>() };
          expect(findCandidates(submission, [own], { skewMs: skewMs + errorMs, timeoutMs: 300_000 })).toEqual([own]);
        },
      ),
    );
  });

  test('takes no batch that is known, that has another number of requests or that was made at another time', () => {
    fc.assert(
      fc.property(fc.array(listed), fc.array(fc.string({ maxLength: 4 })), (all, known) => {
        const submission = { requestCount: 2, startedAtMs: 0, knownIds: new Set(known) };
        for (const one of findCandidates(submission, all, { skewMs: 0, timeoutMs: 300_000 })) {
          expect(known).not.toContain(one.id);
          expect(one.requestCount).toBe(2);
          expect(one.createdAtMs).toBeGreaterThanOrEqual(-60_000);
          expect(one.createdAtMs).toBeLessThanOrEqual(360_000);
        }
      }),
    );
  });

  test('gives a submission up only without a candidate and after settleMs, and takes none of several that have not ended', () => {
    fc.assert(
      fc.property(fc.array(listed), fc.nat(400), fc.boolean(), (candidates, absentMs, isExclusive) => {
        const verdict = decideSearch(candidates, { absentMs, settleMs: 200, isExclusive });
        if (verdict.kind === 'lost') expect([candidates.length, absentMs >= 200]).toEqual([0, true]);
        if (verdict.kind === 'adopt') {
          expect(candidates.map((one) => one.id)).toEqual([verdict.id]);
          expect(verdict.isProved).toBe(isExclusive);
        }
        if (verdict.kind === 'prove')
          expect(candidates.filter(({ hasEnded }) => hasEnded)).toHaveLength(verdict.ids.length);
      }),
    );
  });

  test('polls at least four times within settleMs', () => {
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 600_000 }), fc.nat(100), (settleMs, polls) => {
        expect(searchAgainMs(polls, { settleMs })).toBeLessThanOrEqual(settleMs / 4);
      }),
    );
    expect([0, 1, 2].map((polls) => searchAgainMs(polls, { settleMs: 120_000 }))).toEqual([1000, 2000, 4000]);
  });
});

test('the time between two polls grows by half, and stays within its bounds', () => {
  const bounds = { min: 10_000, max: 300_000 };
  expect([0, 1, 2, 99].map((polls) => pollAgainMs({ polls, random: 0.5 }, bounds))).toEqual([
    10_000, 15_000, 22_500, 300_000,
  ]);
});

test.each([
  ['each second', 30_000, 10_000, 1_000],
  ['more often where requests wait less', 500, 10_000, 500],
  ['more often where batches are polled more often', 30_000, 250, 250],
  ['not without a pause', 0, 1, 100],
])('the lane has a round %s', (_name, windowMs, min, pauseMs) => {
  expect(laneRoundMs({ windowMs, pollMs: { min } })).toBe(pauseMs);
});

describe('a submission that was not accepted', () => {
  test('was definitely not made after a refusal, and may have been made after any other error', () => {
    expect([400, 401, 403, 404, 413, 422, 429].map(isDefinite)).not.toContain(false);
    expect([null, 408, 409, 500, 502, 503, 504, 529].map(isDefinite)).not.toContain(true);
  });

  test.each<[number, number | null, object]>([
    [400, null, { kind: 'split' }],
    [413, null, { kind: 'split' }],
    [422, null, { kind: 'split' }],
    [401, null, { kind: 'wait', ms: 60_000, isRejected: true }],
    [404, null, { kind: 'wait', ms: 60_000, isRejected: false }],
    [429, 7_000, { kind: 'wait', ms: 7_000, isRejected: false }],
    [429, 7_000_000, { kind: 'wait', ms: 60_000, isRejected: false }],
  ])('with %s is halved for its content, or held back for the key and the rate', (status, retryAfterMs, verdict) => {
    expect(decideRefusal({ status, retryAfterMs }, 60_000)).toEqual(verdict);
  });
});
