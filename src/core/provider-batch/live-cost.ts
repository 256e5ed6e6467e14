// The cost that an answer of a batch would have had in a live call.
import { callCostMicros, type ReportedTokens } from '../prices/call-cost.ts';
import type { PriceRow } from '../prices/price-row.ts';

/**
 * In micro-dollars. The same tokens, of which a live call reads from the cache what the call before it has put there (`liveShare` of the
 * prompt), and writes the rest. A prompt that is too short for the cache is neither read nor written.
 */
export function liveCostMicros(
  price: PriceRow,
  tokens: ReportedTokens,
  { liveShare, cacheTokensMin }: { liveShare: number; cacheTokensMin: number },
): number {
  const promptTokens = tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;
  const isCached = promptTokens >= cacheTokensMin;
  const read = isCached ? Math.min(promptTokens, Math.round(promptTokens * liveShare)) : 0;
  const written = isCached ? promptTokens - read : 0;
  const live = {
    inputTokens: promptTokens - read - written,
    outputTokens: tokens.outputTokens,
    cacheReadTokens: read,
    cacheWriteTokens: written,
  };
  return callCostMicros(price, live, 'standard');
}
