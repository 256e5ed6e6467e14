import { expect, test } from 'vitest';
import { FAILURE_WINDOW, judgeBatch, type BatchState } from '../../../../src/features/batches/rules/judge-batch.ts';

const running: BatchState = {
  status: 'running',
  itemCount: 100,
  inFlight: 10,
  followUps: 0,
  answered: 0,
  silent: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
  pilot: null,
  maxFailurePercent: 50,
  recent: '',
  costMicros: 0,
  maxCostMicros: null,
  isCapReached: false,
  isCapFreed: false,
  pauseReason: null,
  budget: null,
  via: 'live',
  probeTo: null,
  probeMs: null,
  isWayChosen: false,
};

test.each([
  ['completed', { answered: 90, silent: 10 }],
  ['partly', { answered: 99, failed: 1 }],
  ['failed', { failed: 99, expired: 1 }],
  ['cancelled', { cancelled: 100 }],
])('a batch of which every item has ended is %s', (outcome, counts) => {
  expect(judgeBatch({ ...running, inFlight: 0, ...counts })).toEqual({ kind: 'end', outcome });
});

test('a batch whose items have ended waits for what they have started, under its cap and its budgets', () => {
  const working = { ...running, inFlight: 0, answered: 60, failed: 40, recent: 'x'.repeat(50), followUps: 1 };
  expect(judgeBatch(working)).toEqual({ kind: 'continue' });
  expect(judgeBatch({ ...working, isCapReached: true })).toMatchObject({ kind: 'pause', reason: 'cost_cap' });
  expect(judgeBatch({ ...working, budget: 'all per day' })).toMatchObject({ kind: 'pause', reason: 'budget' });
  expect(judgeBatch({ ...working, followUps: 0 })).toEqual({ kind: 'end', outcome: 'partly' });
});

test('more failures than allowed among the last 50 ends pause a batch, and fewer ends never do', () => {
  const recent = 'x'.repeat(26) + '.'.repeat(24);
  expect(recent).toHaveLength(FAILURE_WINDOW);
  expect(judgeBatch({ ...running, recent })).toMatchObject({ kind: 'pause', reason: 'failure_rate' });
  expect(judgeBatch({ ...running, recent: `.${recent.slice(1)}` })).toEqual({ kind: 'continue' });
  expect(judgeBatch({ ...running, recent: 'x'.repeat(49) })).toEqual({ kind: 'continue' });
});

test('a batch at its cost cap pauses, and a paused batch is not paused again', () => {
  const atCap = { ...running, costMicros: 5, maxCostMicros: 5 };
  expect(judgeBatch(atCap)).toMatchObject({ kind: 'pause', reason: 'cost_cap' });
  expect(judgeBatch({ ...atCap, status: 'paused' })).toEqual({ kind: 'continue' });
});

test('a batch at its cost cap resumes by itself when calls in flight have left room, unless a person has paused it', () => {
  const paused = { ...running, status: 'paused', maxCostMicros: 5, isCapFreed: true } as const;
  expect(judgeBatch({ ...paused, pauseReason: 'cost_cap' })).toEqual({ kind: 'resume' });
  expect(judgeBatch({ ...paused, pauseReason: 'cost_cap', isCapFreed: false })).toEqual({ kind: 'continue' });
  expect(judgeBatch({ ...paused, pauseReason: 'cost_cap', costMicros: 5 })).toEqual({ kind: 'continue' });
  expect(judgeBatch({ ...paused, pauseReason: 'manual' })).toEqual({ kind: 'continue' });
});

test('with via "auto" the first 2 percent of the items, from 20 to 200, go first, and the way of the others is chosen once when these have ended or after an hour', () => {
  const auto: BatchState = { ...running, via: 'auto', inFlight: 0 };
  const firstOf = (itemCount: number, more: Partial<BatchState> = {}) => judgeBatch({ ...auto, itemCount, ...more });
  expect(firstOf(5)).toEqual({ kind: 'probe', probeTo: 5 });
  expect(firstOf(5_000)).toEqual({ kind: 'probe', probeTo: 100 });
  expect(firstOf(1_000_000)).toEqual({ kind: 'probe', probeTo: 200 });
  // After a pilot, those that follow it.
  expect(firstOf(100, { pilot: 20, answered: 10 })).toEqual({ kind: 'continue' });
  expect(firstOf(100, { answered: 20 })).toEqual({ kind: 'probe', probeTo: 40 });
  const waiting = { ...auto, probeTo: 20, probeMs: 1_000 };
  expect(judgeBatch({ ...waiting, answered: 15, inFlight: 5 })).toEqual({ kind: 'continue' });
  expect(judgeBatch({ ...waiting, answered: 15, inFlight: 5, probeMs: 3_600_000 })).toEqual({ kind: 'choose_way' });
  expect(judgeBatch({ ...waiting, answered: 19, failed: 1 })).toEqual({ kind: 'choose_way' });
  // An older version has begun the wait and ended it without a choice.
  expect(judgeBatch({ ...waiting, probeTo: null, answered: 20, inFlight: 5 })).toEqual({ kind: 'continue' });
  expect(judgeBatch({ ...waiting, probeTo: null, answered: 20 })).toEqual({ kind: 'choose_way' });
  expect(judgeBatch({ ...waiting, answered: 20, isWayChosen: true })).toEqual({ kind: 'continue' });
});
