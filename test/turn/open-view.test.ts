import { expect, test } from 'vitest';
import { deriveProvenance, toThinkingRequest } from '../../src/kernel/turn/open/open-view.ts';

test('a turn keeps the limits and the form of thinking with which it was opened, also one that was opened with a budget only', () => {
  const adaptive = { maxTokens: 10, thinking: { type: 'adaptive' }, effort: 'low' } as const;
  expect(toThinkingRequest(adaptive)).toEqual(adaptive);
  expect(toThinkingRequest({ maxTokens: 20, thinkingBudgetTokens: 5 })).toEqual({
    maxTokens: 20,
    thinking: { type: 'enabled', budget_tokens: 5 },
  });
  expect(toThinkingRequest({})).toBeUndefined();
});

test('a prompt says whether there are words of others in it, also that of a poll and that with a line that is not trusted', () => {
  const sent = (more: object = {}) => ({
    kind: 'message' as const,
    body: { text: 'hi', sender: { id: '42' }, ...more },
  });
  const ownerIds = ['42'];
  expect(deriveProvenance([sent()], { ownerIds })).toBeNull();
  expect(deriveProvenance([sent(), sent({ forwarded: {} })], { ownerIds })).toEqual({ kind: 'others' });
  expect(deriveProvenance([sent()], { ownerIds, isOfOthers: true })).toEqual({ kind: 'others' });
  const poll = { kind: 'heartbeat' as const, body: { text: 'poll' } };
  expect(deriveProvenance([poll], { ownerIds })).toEqual({ kind: 'heartbeat' });
  expect(deriveProvenance([poll], { ownerIds, isOfOthers: true })).toEqual({ kind: 'heartbeat', isOfOthers: true });
});
