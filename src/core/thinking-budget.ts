// How much a model may think at each level, in tokens. Below the smallest budget that providers take, thinking is off.
import type { ThinkingLevel } from './prompt/thinking-directive.ts';

const BUDGETS: Record<ThinkingLevel, number | null> = {
  off: null,
  minimal: 1_024,
  low: 4_096,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  adaptive: 8_192,
};

/** The most tokens of an answer, thinking not counted. */
const ANSWER_TOKENS_MAX = 16_384;

/** The token limits of a model request at a thinking level: `maxTokens` covers thinking and answer together. */
export function tokenLimits(level: ThinkingLevel): { maxTokens: number; thinkingBudgetTokens?: number } {
  const budget = BUDGETS[level];
  if (budget === null) return { maxTokens: ANSWER_TOKENS_MAX };
  return { maxTokens: ANSWER_TOKENS_MAX + budget, thinkingBudgetTokens: budget };
}
