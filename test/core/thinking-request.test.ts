import { describe, expect, test } from 'vitest';
import { KNOWN_MODELS, THINKING_LEVELS } from '../../src/core/models.ts';
import { fitLimits, thinkingRequest } from '../../src/core/thinking-request.ts';

describe('a thinking level', () => {
  test.each([
    ['off', { thinking: { type: 'between_tools' }, maxTokens: 16_384 }],
    ['minimal', { thinking: { type: 'adaptive' }, effort: 'low', maxTokens: 24_576 }],
    ['low', { thinking: { type: 'adaptive' }, effort: 'low', maxTokens: 24_576 }],
    ['medium', { thinking: { type: 'adaptive' }, effort: 'medium', maxTokens: 32_768 }],
    ['high', { thinking: { type: 'adaptive' }, effort: 'high', maxTokens: 49_152 }],
    ['xhigh', { thinking: { type: 'adaptive' }, effort: 'xhigh', maxTokens: 65_536 }],
    ['adaptive', { thinking: { type: 'adaptive' }, maxTokens: 49_152 }],
  ] as const)('%s is an effort for claude-sonnet-5-5', (level, request) => {
    expect(thinkingRequest({ level, model: 'claude-sonnet-5-5' })).toEqual(request);
  });

  test.each([
    ['claude-opus-5-5', { thinking: { type: 'adaptive' }, effort: 'low', maxTokens: 24_576 }],
    ['claude-opus-5', { thinking: { type: 'disabled' }, maxTokens: 16_384 }],
    ['claude-opus-4-8', { maxTokens: 16_384 }],
    ['claude-haiku-4-5', { maxTokens: 16_384 }],
    ['claude-nova-7', { maxTokens: 16_384 }],
    ['scripted-1', { maxTokens: 16_384 }],
  ] as const)('off asks %s for as little thinking as it can do', (model, request) => {
    expect(thinkingRequest({ level: 'off', model })).toEqual(request);
  });

  test.each([
    [{ model: 'claude-haiku-4-5' }, { thinking: { type: 'enabled', budget_tokens: 16_384 }, maxTokens: 32_768 }],
    [{ model: 'claude-opus-4-1' }, { thinking: { type: 'enabled', budget_tokens: 16_384 }, maxTokens: 32_768 }],
    [{ model: 'claude-3-7-sonnet-20250219' }, { thinking: { type: 'enabled', budget_tokens: 16_384 } }],
    [{ model: 'claude-nova-7' }, { thinking: { type: 'adaptive' }, effort: 'high' }],
    [{ provider: 'local', model: 'claude-sonnet-5-5' }, { thinking: { type: 'enabled', budget_tokens: 16_384 } }],
  ] as const)('high for %j takes the form of that model', (named, request) => {
    expect(thinkingRequest({ level: 'high', ...named })).toMatchObject(request);
  });

  test('asks a model of another provider for no more than the catalogue says that it can do', () => {
    const of = (model: string) => thinkingRequest({ level: 'high', provider: 'openai', model });
    expect(of('gpt-4-turbo')).toEqual({ maxTokens: 4_096 });
    expect(of('gpt-5')).toEqual({ maxTokens: 32_768, thinking: { type: 'enabled', budget_tokens: 16_384 } });
    expect(of('not-listed')).toEqual(of('gpt-5'));
  });

  test.each([
    ['high', ['off', 'low', 'medium'], 8_192],
    ['minimal', ['off', 'high'], 16_384],
    ['adaptive', ['low', 'high'], 4_096],
    ['high', ['off', 'adaptive'], 8_192],
    ['high', ['off'], undefined],
    ['off', ['low'], undefined],
  ] as const)('%s for a model that has %j is the most of those that is not more', (level, thinking, budget) => {
    const facts = { contextTokens: null, maxOutputTokens: null, input: null, thinking };
    const request = thinkingRequest({ level, provider: 'local', model: 'qwen', facts });
    expect(request.thinking).toEqual(budget === undefined ? undefined : { type: 'enabled', budget_tokens: budget });
  });

  test('leaves room for an answer in the longest one that is known of the model', () => {
    const of = (maxOutputTokens: number) =>
      thinkingRequest({
        level: 'high',
        provider: 'gateway',
        model: 'claude',
        facts: { contextTokens: null, maxOutputTokens, input: null, thinking: null },
      });
    expect(of(8_192)).toEqual({ maxTokens: 8_192, thinking: { type: 'enabled', budget_tokens: 4_096 } });
    expect(of(1_000)).toEqual({ maxTokens: 1_000 });
  });

  test('xhigh becomes high for a model that has no xhigh', () => {
    expect(thinkingRequest({ level: 'xhigh', model: 'claude-opus-4-6' })).toMatchObject({ effort: 'high' });
  });

  test('never asks a known model for more tokens than it gives, nor for a budget that fills them', () => {
    for (const [model, { outputTokensMax }] of Object.entries(KNOWN_MODELS)) {
      for (const level of THINKING_LEVELS) {
        const { maxTokens, thinking } = thinkingRequest({ level, model });
        expect(maxTokens, `${model} ${level}`).toBeLessThanOrEqual(outputTokensMax);
        if (thinking?.type === 'enabled') expect(thinking.budget_tokens).toBeLessThan(maxTokens);
      }
    }
  });
});

test.each([
  [{ maxTokens: 16_384 }, 20_000, { maxTokens: 16_384 }],
  [{ maxTokens: 16_384 }, 5_000.7, { maxTokens: 5_000 }],
  [{ maxTokens: 16_384 }, -3_000, { maxTokens: 256 }],
  [
    { maxTokens: 32_768, thinking: { type: 'enabled', budget_tokens: 16_384 } as const },
    10_000,
    { maxTokens: 10_000, thinking: { type: 'enabled', budget_tokens: 4_096 } },
  ],
  [{ maxTokens: 32_768, thinking: { type: 'enabled', budget_tokens: 16_384 } as const }, 1_500, { maxTokens: 1_500 }],
  [
    { maxTokens: 49_152, thinking: { type: 'adaptive' } as const, effort: 'high' as const },
    9_000,
    { maxTokens: 9_000, thinking: { type: 'adaptive' }, effort: 'high' },
  ],
])('the limits %j fit into %d tokens of a window', (limits, roomTokens, expected) => {
  expect(fitLimits(limits, roomTokens)).toEqual(expected);
});
