import { expect, test } from 'vitest';
import { isCovered, isScope } from '../../../../src/features/budgets/rules/budget.ts';
import { costOfTokens, likelyTokens, mostTokens } from '../../../../src/features/budgets/rules/likely-cost.ts';
import { OutputHistory } from '../../../../src/kernel/turn/model-states.ts';
import { priceTable } from '../../../../src/core/prices.ts';

const table = priceTable([
  { model: 'acme/small', inputPerMTok: 1, outputPerMTok: 2, cacheReadPerMTok: 0.1, cacheWrite5mPerMTok: 2 },
  { model: 'acme/large', inputPerMTok: 10, outputPerMTok: 20 },
]);
const asked = (model: string) => ({ model, tier: 'standard' as const, day: '2026-11-23' });

test('an answer is expected to be as long as nine of ten before it, 1,000 tokens at first, and never longer than allowed', () => {
  const outputs = new OutputHistory();
  expect(outputs.likely('main', 64_000)).toBe(1_000);
  expect(outputs.likely('main', 300)).toBe(300);
  for (let tokens = 0; tokens < 300; tokens += 1) outputs.add('main', tokens);
  // Of the last 200.
  expect(outputs.likely('main', 64_000)).toBe(280);
});

test('the part of a prompt that the cache has costs its price of the cache', () => {
  const tokens = likelyTokens({ cachedTokens: 1_000_000, newTokens: 1_000_000 }, 1_000_000);
  expect(costOfTokens(table, asked('acme/small'), tokens)).toBe(100_000 + 2_000_000 + 2_000_000);
});

test('a model without a price counts as the most expensive of its provider, and has no cost when that has no prices', () => {
  const tokens = likelyTokens({ cachedTokens: 0, newTokens: 0 }, 1_000_000);
  expect(costOfTokens(table, asked('acme/unknown'), tokens)).toBe(20_000_000);
  expect(costOfTokens(table, asked('nowhere/unknown'), tokens)).toBeNull();
});

test('the most that a call can use counts an image as an image, not as its text', () => {
  const image = {
    type: 'image' as const,
    source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'x'.repeat(100_000) },
  };
  const request = { system: [], tools: [], maxTokens: 500, messages: [{ role: 'user' as const, content: [image] }] };
  const { cacheWriteTokens, outputTokens } = mostTokens(request, 'standard');
  expect(outputTokens).toBe(500);
  expect(cacheWriteTokens).toBeGreaterThan(5_000);
  expect(cacheWriteTokens).toBeLessThan(6_000);
});

test('the most that a call can use counts more for text in other scripts, of which a character may take several tokens', () => {
  const tokensOf = (text: string): number => {
    const content = [{ type: 'text' as const, text }];
    const request = { system: [], tools: [], maxTokens: 1, messages: [{ role: 'user' as const, content }] };
    return mostTokens(request, 'standard').cacheWriteTokens ?? 0;
  };
  const overhead = tokensOf('');
  expect(tokensOf('word '.repeat(200)) - overhead).toBe(500);
  expect(tokensOf('預算'.repeat(500)) - overhead).toBeGreaterThanOrEqual(1_000);
  expect(tokensOf('😀'.repeat(500)) - overhead).toBeGreaterThanOrEqual(2_000);
});

test('a scope covers the calls of its agent, sessions, key or batch', () => {
  const facts = { agentId: 'main', sessionKey: 'agent:main:crm:17', keyName: 'ops', batchId: 'b1' };
  for (const scope of ['all', 'agent:main', 'session:agent:main:crm:*', 'key:ops', 'batch:b1']) {
    expect(isCovered(scope, facts)).toBe(true);
  }
  for (const scope of ['agent:other', 'session:agent:main:web:*', 'key:other', 'batch:b2']) {
    expect(isCovered(scope, facts)).toBe(false);
  }
  expect(['all', 'agent:main', 'session:*', 'key:ops'].every(isScope)).toBe(true);
  expect(['', 'agent:', 'agent:x!', 'agent:Main', 'batch:b1', 'everything', 'session: '].some(isScope)).toBe(false);
});
