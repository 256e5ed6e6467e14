import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formatCustomId,
  formatPrefix,
  parseRequestNo,
  providerErrorFault,
  readResultLine,
} from '../../../../src/features/provider-batches/rules/request-end.ts';
import { readVia } from '../../../../src/core/inbound.ts';
import { leaveAtMs, leaveMsBeforeDeadline } from '../../../../src/features/provider-batches/rules/leave-lane.ts';
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

const id = fc.uuid();
const requestNo = fc.integer({ min: 0, max: 99_999 });

describe('the name of a request', () => {
  test('is accepted by the provider, and says its number to its own submission alone', () => {
    fc.assert(
      fc.property(id, id, requestNo, (own, other, no) => {
        const name = formatCustomId(own, no);
        expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        expect(parseRequestNo(own, name)).toBe(no);
        if (own !== other) expect(parseRequestNo(other, name)).toBeNull();
      }),
    );
  });

  test('begins with the 128 bits of its submission as base64url', () => {
    const own = '01900000-0000-7000-8000-00000000000f';
    const bytes = Buffer.from(own.replaceAll('-', ''), 'hex');
    expect(formatPrefix(own)).toBe(`hf_${bytes.toString('base64url')}_`);
  });
});

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

test('the lane has a round each second, and more where requests wait less or batches are looked at more often', () => {
  const pause = (windowMs: number, min: number): number => laneRoundMs({ windowMs, pollMs: { min } });
  expect(pause(30_000, 10_000)).toBe(1_000);
  expect(pause(500, 10_000)).toBe(500);
  expect(pause(30_000, 250)).toBe(250);
  expect(pause(0, 1)).toBe(100);
});

describe('a submission that was not accepted', () => {
  test('was definitely not made after a refusal, and may have been made after any other error', () => {
    expect([400, 401, 403, 404, 413, 422, 429].map(isDefinite)).not.toContain(false);
    expect([null, 408, 409, 500, 502, 503, 504, 529].map(isDefinite)).not.toContain(true);
  });

  test('is halved for its content, and held back for the key and the rate', () => {
    const decide = (status: number, retryAfterMs: number | null = null) =>
      decideRefusal({ status, retryAfterMs }, 60_000);
    expect([400, 413, 422].map((status) => decide(status).kind)).toEqual(['split', 'split', 'split']);
    expect(decide(401)).toEqual({ kind: 'wait', ms: 60_000, isRejected: true });
    expect(decide(404)).toEqual({ kind: 'wait', ms: 60_000, isRejected: false });
    expect(decide(429, 7_000)).toEqual({ kind: 'wait', ms: 7_000, isRejected: false });
    expect(decide(429, 7_000_000)).toEqual({ kind: 'wait', ms: 60_000, isRejected: false });
  });
});

describe('a line of results', () => {
  const own = '01900000-0000-7000-8000-000000000001';
  const line = (result: object) => JSON.stringify({ custom_id: formatCustomId(own, 3), result });

  test('says how its request ended', () => {
    expect(readResultLine(own, line({ type: 'succeeded', message: { id: 'm', usage: 1 } }))).toMatchObject({
      kind: 'answered',
      requestNo: 3,
      usage: 1,
    });
    const exact = `{"custom_id":"${formatCustomId(own, 3)}","result":{"type":"succeeded","message":{"id":9007199254740993}}}`;
    expect(readResultLine(own, exact)).toMatchObject({ message: { id: '9007199254740993' } });
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    expect(readResultLine(own, line({ type: 'errored', error }))).toEqual({
      kind: 'errored',
      requestNo: 3,
      error: { type: 'overloaded_error', message: 'Overloaded' },
    });
    for (const type of ['expired', 'canceled', 'of-the-future']) {
      expect(readResultLine(own, line({ type }))).toEqual({ kind: 'returned', requestNo: 3, reason: type });
    }
    expect(providerErrorFault(null).type).toBe('api_error');
  });

  test('of another submission or without meaning is recognised in any form', () => {
    const other = JSON.stringify({ custom_id: 'other-1', result: { type: 'expired' } });
    expect(readResultLine(own, other)).toEqual({ kind: 'foreign' });
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(['unreadable', 'foreign']).toContain(readResultLine(own, text).kind);
      }),
    );
  });
});

test('a turn goes the way of its first input, and leaves before its deadline', () => {
  const input = (via?: string) => ({ body: via === undefined ? {} : { via }, receivedAt: 1_000 });
  expect(readVia([input('provider-batch'), input()])).toBe('provider-batch');
  // A single message has no others to be compared with.
  expect(readVia([input('auto')])).toBe('provider-batch');
  expect([readVia([input(), input('provider-batch')]), readVia([]), readVia([input('unheard')])]).toEqual([
    'live',
    'live',
    'live',
  ]);
  expect(leaveAtMs([input()], { deadlineSeconds: 93_600, leaveMs: 900_000 })).toBe(1_000 + 93_600_000 - 900_000);
  expect(leaveAtMs([input()], { deadlineSeconds: 60, leaveMs: 900_000 })).toBe(31_000);
});

test('a turn that fails without an answer stays in the lane until its deadline', () => {
  const input = { body: { via: 'provider-batch', fallback: 'fail' }, receivedAt: 1_000 };
  expect(leaveAtMs([input], { deadlineSeconds: 93_600, leaveMs: 900_000 })).toBe(1_000 + 93_600_000);
});

describe('a turn leaves the lane before its deadline by', () => {
  const minutes = (count: number) => count * 60_000;
  const submissions = (count: number, took: (n: number) => number) => Array.from({ length: count }, (_, n) => took(n));

  test('the 95th percentile of how long recent submissions took', () => {
    expect(leaveMsBeforeDeadline(submissions(20, (n) => minutes(20 + n)))).toBe(minutes(38));
    // One of twenty that took a day does not count.
    expect(leaveMsBeforeDeadline([minutes(1_440), ...submissions(19, () => minutes(30))])).toBe(minutes(30));
  });

  test('15 minutes while fewer than 20 have ended', () => {
    expect(leaveMsBeforeDeadline([])).toBe(minutes(15));
    expect(leaveMsBeforeDeadline(submissions(19, () => minutes(60)))).toBe(minutes(15));
  });

  test('15 minutes to two hours, whatever they took', () => {
    expect(leaveMsBeforeDeadline(submissions(20, () => minutes(2)))).toBe(minutes(15));
    expect(leaveMsBeforeDeadline(submissions(20, () => minutes(1_440)))).toBe(minutes(120));
    fc.assert(
      fc.property(fc.array(fc.nat(minutes(2_880)), { maxLength: 100 }), (tookMs) => {
        const leaveMs = leaveMsBeforeDeadline(tookMs);
        expect(leaveMs).toBeGreaterThanOrEqual(minutes(15));
        expect(leaveMs).toBeLessThanOrEqual(minutes(120));
        expect(leaveMsBeforeDeadline(tookMs.toReversed())).toBe(leaveMs);
      }),
    );
  });
});
