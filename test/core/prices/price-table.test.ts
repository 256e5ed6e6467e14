import { expect, test } from 'vitest';
import { CURRENT_MODEL, KNOWN_MODELS } from '../../../src/core/models.ts';
import { priceAt, priceTable } from '../../../src/core/prices.ts';
import { isWholePrice } from '../../../src/core/price-row.ts';

const TODAY = '2026-11-23';
const BUILT_IN = priceTable([]);

test('the default model has a price', () => {
  expect(priceAt(BUILT_IN, { model: CURRENT_MODEL, day: TODAY })?.prices.input).toBe(2000);
});

test('a price changes on the first day of its row', () => {
  const readPriceOn = (day: string) => priceAt(BUILT_IN, { model: CURRENT_MODEL, day })?.prices.cacheRead;

  expect(readPriceOn('2026-10-06')).toBe(200);
  expect(readPriceOn('2026-10-07')).toBe(100);
});

test('a dated snapshot of a model has the price of the model', () => {
  const dated = Object.keys(KNOWN_MODELS).filter((model) => /-\d{8}$/.test(model));
  expect(dated).not.toEqual([]);
  for (const model of dated) {
    const undated = model.replace(/-\d{8}$/, '');
    expect(priceAt(BUILT_IN, { model: `anthropic/${model}`, day: TODAY })).toBe(
      priceAt(BUILT_IN, { model: `anthropic/${undated}`, day: TODAY }),
    );
  }
});

test('a model without a row has no price', () => {
  expect(priceAt(BUILT_IN, { model: 'anthropic/claude-opus-9', day: TODAY })).toBeNull();
  expect(priceAt(BUILT_IN, { model: 'elsewhere/claude-opus-5', day: TODAY })).toBeNull();
});

test('a configured row holds before the built-in ones', () => {
  const own = { model: 'anthropic/claude-*', inputPerMTok: 7, outputPerMTok: 7 };
  const table = priceTable([own]);

  expect(priceAt(table, { model: CURRENT_MODEL, day: TODAY })?.prices.input).toBe(7000);
  expect(table).toHaveLength(BUILT_IN.length + 1);
});

test('a configured row with the model and the first day of a built-in row replaces it', () => {
  const own = { model: CURRENT_MODEL, from: '2026-10-07', inputPerMTok: 7, outputPerMTok: 7 };
  const table = priceTable([own]);

  expect(table).toHaveLength(BUILT_IN.length);
  expect(priceAt(table, { model: CURRENT_MODEL, day: '2026-10-06' })?.prices.input).toBe(2000);
  expect(priceAt(table, { model: CURRENT_MODEL, day: '2026-10-07' })?.prices.input).toBe(7000);
});

test('of the configured rows that match, the longest pattern holds, and of equal patterns the latest', () => {
  const at = (model: string, from: string, inputPerMTok: number) => ({ model, from, inputPerMTok, outputPerMTok: 1 });
  const table = priceTable([at('x/*', '2026-01-01', 1), at('x/y-*', '2026-01-01', 2), at('x/y-*', '2026-06-01', 3)]);

  expect(priceAt(table, { model: 'x/z', day: TODAY })?.prices.input).toBe(1000);
  expect(priceAt(table, { model: 'x/y-1', day: '2026-05-31' })?.prices.input).toBe(2000);
  expect(priceAt(table, { model: 'x/y-1', day: TODAY })?.prices.input).toBe(3000);
});

test('the order of configured rows changes nothing', () => {
  const rows = ['x/*', 'x/y-*', 'x/z-*'].map((model, index) => ({ model, inputPerMTok: index, outputPerMTok: 1 }));

  expect(priceTable(rows.toReversed())).toEqual(priceTable(rows));
});

test('every built-in price is a whole number of nano-dollars per token, with a source and a day', () => {
  for (const { prices, longPrompt, source, checkedAt } of BUILT_IN) {
    const all = [...Object.values(prices), ...Object.values(longPrompt?.prices ?? {})];
    expect(all.every((price) => Number.isSafeInteger(price) && price > 0)).toBe(true);
    expect(source).toMatch(/^https:/);
    expect(checkedAt).toMatch(/^\d{4}-\d\d-\d\d$/);
  }
});

test('a price with more than three decimals is not a whole number of nano-dollars', () => {
  expect([0.001, 1.005, 0.29, 1.1, 75, 0].every(isWholePrice)).toBe(true);
  expect(isWholePrice(0.0005)).toBe(false);
});
