// Reads the usage figures of a provider. They are foreign data on their way into integer columns and into the estimate of how full the
// context is, so each becomes a whole number within a bound here, and nowhere later.
import type { Usage, ModelRequest } from '../../core/model-request.ts';
import { isObject } from '../../core/given.ts';
import type { ContentBlock } from '../../core/content.ts';
import { CHARS_PER_TOKEN, estimateTokens } from '../../core/token-estimate.ts';

/** The largest figure that is believed: far above every context window, and so small that sums of many stay exact. */
export const TOKENS_MAX = 2 ** 40;

const WIRE_NAMES = {
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  cacheReadTokens: 'cache_read_input_tokens',
  cacheWriteTokens: 'cache_creation_input_tokens',
} as const satisfies Record<Exclude<keyof Usage, 'cacheWrite1hTokens'>, string>;

/**
 * The figures after an event that brings `wire`. They are running totals: a later one replaces an earlier one. What is no finite number
 * leaves the figure as it was; a fraction is rounded up, and the result is kept between 0 and 2^40.
 */
export function usageAfter(before: Usage, wire: unknown): Usage {
  if (!isObject(wire)) return before;
  const figure = (name: keyof typeof WIRE_NAMES): number => readTokenCount(wire[WIRE_NAMES[name]]) ?? before[name];
  const cacheWriteTokens = figure('cacheWriteTokens');
  const cacheWrite1hTokens = Math.min(readHourTokens(wire) ?? before.cacheWrite1hTokens ?? 0, cacheWriteTokens);
  return {
    inputTokens: figure('inputTokens'),
    outputTokens: figure('outputTokens'),
    cacheReadTokens: figure('cacheReadTokens'),
    cacheWriteTokens,
    ...(cacheWrite1hTokens === 0 ? {} : { cacheWrite1hTokens }),
  };
}

/** The tokens that were written into the cache for an hour; null when the provider does not report it. */
function readHourTokens({ cache_creation: written }: Record<string, unknown>): number | null {
  return isObject(written) ? readTokenCount(written['ephemeral_1h_input_tokens']) : null;
}

/** A figure as a whole number from 0 to 2^40; null when it is no finite number. */
function readTokenCount(figure: unknown): number | null {
  if (typeof figure !== 'number' || !Number.isFinite(figure)) return null;
  return Math.min(TOKENS_MAX, Math.max(0, Math.ceil(figure)));
}

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
