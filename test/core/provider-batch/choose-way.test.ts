import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { priceRowOf } from '../../../src/core/prices/price-row.ts';
import { cacheTokensMinOf, withMarkers } from '../../../src/core/provider-batch/cache-markers.ts';
import { chooseMarkers, chooseWay, type NextCalls } from '../../../src/core/provider-batch/choose-way.ts';
import { liveCostMicros } from '../../../src/core/provider-batch/live-cost.ts';

const price = priceRowOf(
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

/** Three calls of 300 tokens each, with an own prompt of 1,000 and tool results of 500. */
const conversation = (prefixTokens: number): NextCalls => ({
  promptTokens: prefixTokens + 1_000,
  prefixTokens,
  previousTokens: 0,
  previousWay: null,
  addedTokens: 800,
  outputTokens: 300,
  callsLeft: 3,
});

const choose = (calls: NextCalls, hitRate: number | null, more: Partial<Parameters<typeof chooseWay>[1]> = {}) =>
  chooseWay(calls, {
    price,
    measured: hitRate === null ? null : { hitRate, ageMs: 0, tookMs: 60_000 },
    cache: 'auto',
    cacheTokensMin: 1_024,
    ...more,
  });

describe('the cheaper way', () => {
  test.each([
    [16_000, [1, 0.98, 0.9], [0.7, 0.5, 0.3, 0]],
    [3_000, [1, 0.9, 0.8, 0.5], [0.2, 0]],
  ])(
    'with a shared prefix of %i tokens is a batch at the hit rates %j, and live calls at %j',
    (prefix, batch, live) => {
      const ways = (rates: readonly number[]) => rates.map((rate) => choose(conversation(prefix), rate).way);
      expect(ways(batch)).toEqual(batch.map(() => 'provider-batch'));
      expect(ways(live)).toEqual(live.map(() => 'live'));
    },
  );

  test('of one long answer to a short prompt is a batch, although its cache was not measured', () => {
    const calls = { ...conversation(500), callsLeft: 1, outputTokens: 800 };
    expect(choose(calls, null)).toMatchObject({ way: 'provider-batch', markers: 'off' });
    expect(choose(conversation(16_000), null)).toMatchObject({ way: 'live' });
  });

  test('for a conversation in progress is usually the way of its last call', () => {
    const begun = { ...conversation(3_000), promptTokens: 12_000, previousTokens: 11_500, callsLeft: 2 };
    expect(choose({ ...begun, previousWay: 'live' }, 0.6).way).toBe('live');
    expect(choose({ ...begun, previousWay: 'provider-batch' }, 0.6).way).toBe('provider-batch');
  });

  test('of a model without a price is not known, so calls are live', () => {
    expect(choose(conversation(3_000), 1, { price: null })).toMatchObject({
      way: 'live',
      reason: expect.stringContaining('no price'),
    });
  });
});

describe('the markers of a batch', () => {
  const markers = (hitRate: number, tookMs: number, more: object = {}) =>
    chooseMarkers(conversation(16_000), {
      price,
      measured: { hitRate, ageMs: 0, tookMs },
      cache: 'auto',
      cacheTokensMin: 1_024,
      ...more,
    });

  test('keep prompts for as long as a round takes, and not at all below the break-even', () => {
    expect([markers(0.3, 60_000), markers(0.1, 60_000)]).toEqual(['5m', 'off']);
    expect([markers(0.6, 600_000), markers(0.3, 600_000)]).toEqual(['1h', 'off']);
  });

  test('are left out of prompts that are too short for the cache, and otherwise follow the batch', () => {
    expect(markers(1, 0, { cacheTokensMin: 20_000 })).toBe('off');
    expect(markers(0, 0, { cache: '1h' })).toBe('1h');
    expect([cacheTokensMinOf('claude-haiku-4-5'), cacheTokensMinOf('claude-sonnet-5-5')]).toEqual([4_096, 1_024]);
  });

  test('change nothing but the markers of a request', () => {
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
  });
});

test('the live cost of the same answer falls with the tokens that a live call reads from the cache, and never depends on the batch', () => {
  const tokens = fc.integer({ min: 0, max: 100_000 });
  const share = fc.float({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(tokens, tokens, tokens, share, share, (inputTokens, cacheReadTokens, outputTokens, one, other) => {
      const cost = (liveShare: number, read: number) =>
        liveCostMicros(
          price,
          {
            inputTokens: inputTokens + cacheReadTokens - read,
            cacheReadTokens: read,
            cacheWriteTokens: 0,
            outputTokens,
          },
          { liveShare, cacheTokensMin: 1_024 },
        );
      expect(cost(one, 0)).toBe(cost(one, cacheReadTokens));
      if (one >= other) expect(cost(one, 0)).toBeLessThanOrEqual(cost(other, 0));
    }),
  );
});
