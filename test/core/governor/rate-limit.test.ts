// Which limits apply to a call, and how much it takes from them.
import { expect, test } from 'vitest';
import { chooseBlockMs } from '../../../src/kernel/rules/model-outage.ts';
import { toCost, limitsFor, toRateLimits, type WrittenLimit } from '../../../src/core/rate-limit.ts';

const written = (limit: Partial<WrittenLimit>): WrittenLimit => ({
  model: 'anthropic/claude-sonnet-*',
  requestsPerMinute: 100,
  batchSharePercent: 100,
  counts: 'uncached',
  ...limit,
});

test('all limits that match a model hold for its calls', () => {
  const limits = toRateLimits([written({}), written({ model: 'anthropic/*' }), written({ model: 'other/*' })]);
  const found = limitsFor(limits, { model: 'anthropic/claude-sonnet-5-5', lane: 'main' });
  expect(found.map(({ model }) => model)).toEqual(['anthropic/claude-sonnet-*', 'anthropic/*']);
});

test('the share of batches is a separate limit, for calls of the lane batch', () => {
  const limits = toRateLimits([written({ batchSharePercent: 40, outputTokensPerMinute: 1000 })]);
  const perMinute = (lane: string) =>
    limitsFor(limits, { model: 'anthropic/claude-sonnet-5-5', lane }).map((limit) => [limit.unit, limit.perMinute]);
  const whole = [
    ['requests', 100],
    ['outputTokens', 1000],
  ];
  expect(perMinute('main')).toEqual(whole);
  expect(perMinute('batch')).toEqual([...whole, ['requests', 40], ['outputTokens', 400]]);
});

test('tokens that were read from the cache count only where the limit says so', () => {
  const tokens = { uncachedTokens: 10, cacheReadTokens: 500, outputTokens: 7 };
  const costs = (counts: WrittenLimit['counts']) =>
    toRateLimits([written({ inputTokensPerMinute: 1000, counts })]).map((limit) => [limit.unit, toCost(limit, tokens)]);
  expect(costs('uncached')).toEqual([
    ['requests', 1],
    ['inputTokens', 10],
  ]);
  expect(costs('all')).toEqual([
    ['requests', 1],
    ['inputTokens', 510],
  ]);
});

test('a model is blocked by a 429 or a 529 with a time to wait', () => {
  expect(chooseBlockMs({ status: 429, retryAfterMs: 5000 })).toBe(5000);
  expect(chooseBlockMs({ status: 429, retryAfterMs: null })).toBeNull();
  expect(chooseBlockMs({ status: 503, retryAfterMs: 5000 })).toBeNull();
});
