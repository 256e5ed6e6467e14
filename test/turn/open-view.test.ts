import { expect, test } from 'vitest';
import { toThinkingRequest } from '../../src/kernel/turn/open/open-view.ts';

test('a turn keeps the limits and the form of thinking with which it was opened, also one that was opened with a budget only', () => {
  const adaptive = { maxTokens: 10, thinking: { type: 'adaptive' }, effort: 'low' } as const;
  expect(toThinkingRequest(adaptive)).toEqual(adaptive);
  expect(toThinkingRequest({ maxTokens: 20, thinkingBudgetTokens: 5 })).toEqual({
    maxTokens: 20,
    thinking: { type: 'enabled', budget_tokens: 5 },
  });
  expect(toThinkingRequest({})).toBeUndefined();
});
