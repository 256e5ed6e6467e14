// The tokens and the cost of an answer in the results of a batch: read from its line before any turn uses it.
import { CALL_TOKENS_MAX } from '../../../model/stream/usage-figures.ts';
import { callCostMicros, type ReportedTokens } from '../../../core/prices/call-cost.ts';
import { priceAt, type PriceTable } from '../../../core/prices/price-table.ts';
import { refOfModel } from '../../../core/model-ref.ts';
import { cacheTokensMinOf, cachedCallMicros } from '../../../core/cache-markers.ts';

/** The tokens that the provider reports with an answer; missing ones, and those that no request can have, are 0. */
export function tokensOfUsage(usage: unknown): ReportedTokens & { cacheWrite1hTokens: number } {
  const count = (of: unknown, name: string): number => {
    const value = (of as Record<string, unknown> | null | undefined)?.[name];
    return typeof value === 'number' && value >= 0 && value <= CALL_TOKENS_MAX ? value : 0;
  };
  return {
    inputTokens: count(usage, 'input_tokens'),
    outputTokens: count(usage, 'output_tokens'),
    cacheReadTokens: count(usage, 'cache_read_input_tokens'),
    cacheWriteTokens: count(usage, 'cache_creation_input_tokens'),
    cacheWrite1hTokens: count(
      (usage as { cache_creation?: unknown } | null)?.cache_creation,
      'ephemeral_1h_input_tokens',
    ),
  };
}

/**
 * The cost of an answer in a batch, and of the same in a live call, in micro-dollars; null: the model has no price. A live call reads `liveShare`
 * of its prompt from the cache and writes the rest; a prompt that is too short for the cache is neither read nor written.
 */
export function answerCosts(
  table: PriceTable,
  { model, day, usage, liveShare }: { model: string; day: string; usage: unknown; liveShare: number | null },
): { costMicros: number | null; liveMicros: number | null } {
  const price = priceAt(table, { model: refOfModel({ model }), day });
  if (price === null) return { costMicros: null, liveMicros: null };
  const tokens = tokensOfUsage(usage);
  const { outputTokens } = tokens;
  const promptTokens = tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;
  const markers = promptTokens >= cacheTokensMinOf(model) ? '5m' : 'off';
  const live = { promptTokens, prefixTokens: 0, readTokens: promptTokens * (liveShare ?? 0), outputTokens };
  return {
    costMicros: callCostMicros(price, tokens, 'batch'),
    liveMicros: cachedCallMicros(price, live, { tier: 'standard', markers }),
  };
}
