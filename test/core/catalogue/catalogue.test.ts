// The catalogue of models: the list as data, what the configuration adds, and the prices that come
// from it.
import { expect, test } from 'vitest';
import { catalogueRow, LISTED_PRICES, listCatalogue, MODEL_INPUTS, THINKING_LEVELS } from '../../../src/core/models.ts';
import { priceAt, priceTable } from '../../../src/core/prices.ts';
import { isWholePrice } from '../../../src/core/price-row.ts';

const day = '2026-11-27';

test('each row has a window, inputs and thinking levels that Holdfast knows, and each model one row', () => {
  const rows = listCatalogue({});
  expect(new Set(rows.map(({ model }) => model)).size).toBe(rows.length);
  expect(new Set(rows.map(({ model }) => model.split('/')[0]))).toEqual(
    new Set(['anthropic', 'openai', 'google', 'xai']),
  );
  for (const { model, contextTokens, maxOutputTokens, input, thinking } of rows) {
    expect(contextTokens, model).toBeGreaterThanOrEqual(maxOutputTokens ?? Infinity);
    expect(maxOutputTokens, model).toBeGreaterThan(0);
    expect(MODEL_INPUTS, model).toEqual(expect.arrayContaining([...(input ?? ['none'])]));
    expect(THINKING_LEVELS, model).toEqual(expect.arrayContaining([...(thinking ?? ['none'])]));
    expect(thinking?.length, model).toBeGreaterThan(0);
  }
});

test('listed prices are whole nano-dollars, and price the calls of their models', () => {
  const table = priceTable([]);
  for (const { model, inputPerMTok, outputPerMTok, cacheReadPerMTok = 0 } of LISTED_PRICES) {
    expect([inputPerMTok, outputPerMTok, cacheReadPerMTok].every(isWholePrice), model).toBe(true);
    expect(priceAt(table, { model, day })?.prices.input, model).toBe(Math.round(inputPerMTok * 1000));
  }
});

test('a price of the configuration holds before a listed one', () => {
  const own = { model: 'openai/*', inputPerMTok: 1, outputPerMTok: 1 };
  const model = LISTED_PRICES.find((row) => row.model.startsWith('openai/'))?.model ?? '';
  expect(priceAt(priceTable([own]), { model, day })?.source).toBe('models.prices');
});

test('the configuration replaces facts of a listed model and adds models', () => {
  const configured = {
    'openai/gpt-4': { contextTokens: 4_000 },
    'ollama/qwen': { contextTokens: 32_000, input: ['text' as const] },
  };
  const listed = catalogueRow({}, 'openai/gpt-4');
  expect(catalogueRow(configured, 'openai/gpt-4')).toEqual({
    ...listed,
    contextTokens: 4_000,
    source: 'models.catalogue',
    checkedAt: null,
  });
  expect(catalogueRow(configured, 'ollama/qwen')).toMatchObject({
    contextTokens: 32_000,
    maxOutputTokens: null,
    input: ['text'],
    thinking: null,
  });
  expect(catalogueRow(configured, 'ollama/other')).toBeNull();
  expect(
    listCatalogue(configured)
      .slice(0, 2)
      .map(({ model }) => model),
  ).toEqual(['openai/gpt-4', 'ollama/qwen']);
});
