import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toPriceRow } from '../../../../src/core/price-row.ts';
import { answerCosts } from '../../../../src/features/provider-batches/rules/request-end.ts';
import {
  cachedCallMicros,
  cacheTokensMinOf,
  withMarkers,
  type CacheMarkers,
} from '../../../../src/core/cache-markers.ts';
import { chooseWay, type MeasuredRound } from '../../../../src/features/batches/rules/choose-way.ts';

const model = 'claude-sonnet-5-5';
const price = toPriceRow(
  {
    model: 'anthropic/*',
    inputPerMTok: 3,
    outputPerMTok: 15,
    cacheReadPerMTok: 0.3,
    cacheWrite5mPerMTok: 3.75,
    cacheWrite1hPerMTok: 6,
  },
  'test',
);

const ITEMS = 20;

/**
 * The rounds of conversations of three calls of 300 tokens each, with an own prompt of 1,000 and
 * tool results of 500.
 */
function roundsOf(prefixTokens: number, hitRate: number, { calls = 3, outputTokens = 300, ownTokens = 1_000 } = {}) {
  let heldTokens = prefixTokens;
  return Array.from({ length: calls }, (_, n): MeasuredRound => {
    const promptTokens = prefixTokens + ownTokens + n * 800;
    const markers: CacheMarkers = promptTokens >= cacheTokensMinOf(model) ? '5m' : 'off';
    const cost = (tier: 'standard' | 'batch', rate: number) =>
      ITEMS *
      cachedCallMicros(
        price,
        { promptTokens, prefixTokens, readTokens: heldTokens * rate, outputTokens },
        { tier, markers },
      );
    const round = { costMicros: cost('batch', hitRate), liveMicros: cost('standard', 1) };
    heldTokens = promptTokens;
    return { answered: ITEMS, promptTokens: ITEMS * promptTokens, outputTokens: ITEMS * outputTokens, ...round };
  });
}

const choose = (rounds: MeasuredRound[], cache: '5m' | 'auto' = 'auto') => chooseWay(rounds, { price, cache });

describe('the way of a batch', () => {
  test.each([
    [16_000, [1, 0.98, 0.9], [0.7, 0.5, 0.3, 0]],
    [3_000, [1, 0.9, 0.8, 0.5], [0.2, 0]],
  ])(
    'whose first items share %i tokens is the provider at the hit rates %j, and live calls at %j',
    (prefix, batch, live) => {
      const ways = (rates: readonly number[]) => rates.map((rate) => choose(roundsOf(prefix, rate)).via);
      expect(ways(batch)).toEqual(batch.map(() => 'provider-batch'));
      expect(ways(live)).toEqual(live.map(() => 'live'));
    },
  );

  test('of long answers to short prompts is the provider, and the reason says what the first items cost', () => {
    const chosen = choose(roundsOf(0, 0, { calls: 1, outputTokens: 800, ownTokens: 900 }));
    expect(chosen).toEqual({
      via: 'provider-batch',
      reason: 'Cheaper in a batch: $0.1470 against $0.2940 live, for the first items.',
    });
  });

  test('is a batch without its cache where that is the cheapest, unless the batch says how prompts are kept', () => {
    const rounds = roundsOf(500, 0, { calls: 1, ownTokens: 3_000 });
    expect(choose(rounds)).toMatchObject({ via: 'provider-batch', cache: 'off' });
    expect(choose(rounds, '5m')).not.toHaveProperty('cache');
  });

  test('is live calls when the ways cannot be compared', () => {
    const unpriced = roundsOf(3_000, 1).map((round) => ({ ...round, costMicros: null, liveMicros: null }));
    expect(choose(unpriced)).toMatchObject({ via: 'live', reason: expect.stringContaining('no price') });
    const unanswered = roundsOf(3_000, 1).map((round) => ({ ...round, answered: 0 }));
    expect(choose(unanswered)).toMatchObject({ via: 'live', reason: expect.stringContaining('None') });
  });
});

test('markers of a request change nothing else in it, and models differ in the least tokens of a cached prompt', () => {
  const system = [
    { type: 'text' as const, text: 'stable', cache_control: { type: 'ephemeral' as const } },
    { type: 'text' as const, text: 'today' },
  ];
  expect(withMarkers({ system }, '5m')).toEqual({ system });
  expect(withMarkers({ system }, '1h').system).toEqual([
    { ...system[0], cache_control: { type: 'ephemeral', ttl: '1h' } },
    system[1],
  ]);
  expect(withMarkers({ system }, 'off')).toEqual({
    system: [{ type: 'text', text: 'stable' }, system[1]],
    isOneOff: true,
  });
  expect([cacheTokensMinOf('claude-haiku-4-5'), cacheTokensMinOf(model)]).toEqual([4_096, 1_024]);
});

test('the live cost of the same answer falls with the tokens that a live call reads from the cache, and never depends on the batch', () => {
  const tokens = fc.integer({ min: 0, max: 100_000 });
  const share = fc.float({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(tokens, tokens, tokens, share, share, (inputTokens, cacheReadTokens, outputTokens, one, other) => {
      const cost = (liveShare: number, read: number) => {
        const usage = {
          input_tokens: inputTokens + cacheReadTokens - read,
          cache_read_input_tokens: read,
          output_tokens: outputTokens,
        };
        return answerCosts([price], { model, day: '2026-01-01', usage, liveShare }).liveMicros ?? 0;
      };
      expect(cost(one, 0)).toBe(cost(one, cacheReadTokens));
      if (one >= other) expect(cost(one, 0)).toBeLessThanOrEqual(cost(other, 0));
    }),
  );
});
