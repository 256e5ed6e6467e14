import fc from 'fast-check';
import { expect, test } from 'vitest';
import { callCostMicros, withCallCost, type CostTotal, type ReportedTokens } from '../../../src/core/prices.ts';
import { perMillionTokens, toPriceRow, type WrittenPriceRow } from '../../../src/core/price-row.ts';

const SONNET: WrittenPriceRow = {
  model: 'anthropic/sonnet',
  inputPerMTok: 3,
  outputPerMTok: 15,
  cacheReadPerMTok: 0.3,
  cacheWrite5mPerMTok: 3.75,
  cacheWrite1hPerMTok: 6,
};

const NOTHING: ReportedTokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
const START: CostTotal = { costMicros: 0, unpricedCalls: 0, isSimulated: false };

function costOf(written: WrittenPriceRow, tokens: Partial<ReportedTokens>, tier: 'standard' | 'batch' = 'standard') {
  return callCostMicros(toPriceRow(written, 'test'), { ...NOTHING, ...tokens }, tier);
}

test('the cost of a call is its tokens of each kind times their prices', () => {
  const tokens = { inputTokens: 1000, outputTokens: 200, cacheReadTokens: 10_000, cacheWriteTokens: 500 };

  expect(costOf(SONNET, tokens)).toBe(3000 + 3000 + 3000 + 1875);
  expect(costOf(SONNET, { ...tokens, cacheWrite1hTokens: 200 })).toBe(3000 + 3000 + 3000 + 1125 + 1200);
});

test('the cost of a call is rounded half up once, for the call as a whole', () => {
  const cheap = { model: 'm', inputPerMTok: 0.25, outputPerMTok: 0.25 };

  expect(costOf(cheap, { inputTokens: 1 })).toBe(0);
  expect(costOf(cheap, { inputTokens: 2 })).toBe(1);
  expect(costOf(cheap, { inputTokens: 1, outputTokens: 1 })).toBe(1);
  expect(costOf(cheap, { inputTokens: 5 })).toBe(1);
});

test('half of one cent per million tokens loses nothing', () => {
  const row = { model: 'm', inputPerMTok: 0.01, outputPerMTok: 0.01, batchPercent: 50 };

  expect(costOf(row, { inputTokens: 1_000_000 }, 'batch')).toBe(5000);
  expect(costOf(row, { inputTokens: 200 }, 'batch')).toBe(1);
});

test('a long prompt changes the price of every token of its call', () => {
  const haiku = {
    model: 'm',
    inputPerMTok: 0.1,
    outputPerMTok: 0.5,
    longPrompt: { overTokens: 100_000, inputPerMTok: 0.5, outputPerMTok: 2.5 },
  };

  expect(costOf(haiku, { inputTokens: 100_000, outputTokens: 100 })).toBe(10_050);
  expect(costOf(haiku, { inputTokens: 50_000, cacheReadTokens: 50_001, outputTokens: 100 })).toBe(50_251);
});

test('a cost is exact for any number of tokens that a provider can report', () => {
  const count = fc.integer({ min: 0, max: 2 ** 40 });
  fc.assert(
    fc.property(count, count, count, (inputTokens, outputTokens, cacheReadTokens) => {
      const exact = BigInt(inputTokens) * 3000n + BigInt(outputTokens) * 15_000n + BigInt(cacheReadTokens) * 300n;
      const micros = costOf(SONNET, { inputTokens, outputTokens, cacheReadTokens });
      expect(BigInt(micros)).toBe((exact + 500n) / 1000n);
    }),
  );
});

test('a total counts unknown costs and never takes them for 0', () => {
  const unknown = { costMicros: null, isSimulated: false };
  const known = { costMicros: 70, isSimulated: true };

  expect(withCallCost(START, unknown)).toEqual({ costMicros: null, unpricedCalls: 1, isSimulated: false });
  expect(withCallCost(withCallCost(START, unknown), known)).toEqual({
    costMicros: 70,
    unpricedCalls: 1,
    isSimulated: true,
  });
  expect(withCallCost(withCallCost(START, known), unknown)).toEqual({
    costMicros: 70,
    unpricedCalls: 1,
    isSimulated: true,
  });
});

test('a written row has the values with which it was written', () => {
  const { prices } = toPriceRow(SONNET, 'test');
  const { model: _model, ...written } = SONNET;

  expect(perMillionTokens(prices)).toEqual(written);
});
