// Whether a request can have used the tokens that its provider reports: an impossible figure would fill every budget, and the context.
import type { ContentBlock } from '../content.ts';
import type { ModelRequest, Usage } from '../model-request.ts';
import { CHARS_PER_TOKEN, estimateTokens } from '../token-estimate.ts';

/** No model takes a longer prompt, in tokens. Windows of single models change, and the figures of an unknown one may be right. */
const WINDOW_TOKENS_MAX = 1_000_000;

/** Providers count a little more than they bound: their own instructions, the end of an answer. */
const SLACK = 2;

/** No figure of any call is greater. */
export const CALL_TOKENS_MAX = SLACK * WINDOW_TOKENS_MAX;

type AskedRequest = Pick<ModelRequest, 'system' | 'tools' | 'messages' | 'maxTokens'>;

/**
 * The usage, with an estimate in place of each part that the request cannot have: a prompt beyond every window, an answer beyond what
 * was asked for. The same object when all of it is possible.
 */
export function believableUsage(usage: Usage, request: AskedRequest, content: readonly ContentBlock[]): Usage {
  const { outputTokens, ...prompt } = usage;
  const promptTokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const isPromptOdd = promptTokens > CALL_TOKENS_MAX;
  const isOutputOdd = outputTokens > SLACK * request.maxTokens;
  if (!isPromptOdd && !isOutputOdd) return usage;
  const { system, tools, messages } = request;
  const fixedTokens = (): number => JSON.stringify({ system, tools }).length / CHARS_PER_TOKEN;
  return {
    ...(isPromptOdd
      ? { inputTokens: Math.ceil(fixedTokens() + estimateTokens(messages)), cacheReadTokens: 0, cacheWriteTokens: 0 }
      : prompt),
    outputTokens: isOutputOdd ? Math.min(request.maxTokens, estimateTokens([{ content: [...content] }])) : outputTokens,
  };
}
