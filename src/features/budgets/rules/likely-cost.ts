// The likely and the maximum cost of a call before it is made: the amount that it reserves.
import { callCostMicros, type PriceTier, type ReportedTokens, priceAt, type PriceTable } from '../../../core/prices.ts';
import type { PriceRow } from '../../../core/price-row.ts';
import type { ModelRequest } from '../../../core/model-request.ts';

/** The expected tokens of a prompt: the part in the provider's cache, and the rest. */
export interface PromptEstimate {
  cachedTokens: number;
  newTokens: number;
}

export function likelyTokens({ cachedTokens, newTokens }: PromptEstimate, outputTokens: number): ReportedTokens {
  return { inputTokens: 0, cacheReadTokens: cachedTokens, cacheWriteTokens: newTokens, outputTokens };
}

/**
 * No English text or JSON of a request has fewer characters per token, no other character more
 * tokens (its bytes), and no image.
 */
const CHARS_PER_TOKEN_MIN = 2;
const TOKENS_PER_OTHER_CHAR_MAX = 3;
const OTHER_CHARS = /[\u0080-\uffff]+/g;
const IMAGE_TOKENS_MAX = 5_000;

/**
 * The maximum tokens of a call: nothing is read from the cache, and the answer is as long as the
 * request allows.
 */
export function mostTokens(
  { system, tools, messages, maxTokens }: Pick<ModelRequest, 'system' | 'tools' | 'messages' | 'maxTokens'>,
  tier: PriceTier,
): ReportedTokens {
  let images = 0;
  const text = JSON.stringify({ system, tools, messages }, (_name, value: unknown) => {
    if ((value as { type?: unknown } | null)?.type !== 'image') return value;
    images += 1;
    return null;
  });
  const asciiChars = text.replace(OTHER_CHARS, '').length;
  const textTokens = asciiChars / CHARS_PER_TOKEN_MIN + (text.length - asciiChars) * TOKENS_PER_OTHER_CHAR_MAX;
  const promptTokens = Math.ceil(textTokens) + images * IMAGE_TOKENS_MAX;
  return {
    inputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: promptTokens,
    // Only requests in batches of the provider are kept for an hour.
    cacheWrite1hTokens: tier === 'batch' ? promptTokens : 0,
    outputTokens: maxTokens,
  };
}

/**
 * What these tokens cost, in micro-dollars. Null: neither the model nor any other of its provider
 * has a price.
 */
export function costOfTokens(
  table: PriceTable,
  { model, tier, day }: { model: string; tier: PriceTier; day: string },
  tokens: ReportedTokens,
): number | null {
  const own = priceAt(table, { model, day });
  if (own !== null) return callCostMicros(own, tokens, tier);
  const costs = rowsOfProvider(table, model).map((row) => callCostMicros(row, tokens, tier));
  return costs.length === 0 ? null : Math.max(...costs);
}

/** True for a model with its own price on that day. */
export function isPriced(table: PriceTable, { model, day }: { model: string; day: string }): boolean {
  return priceAt(table, { model, day }) !== null;
}

function rowsOfProvider(table: PriceTable, model: string): PriceRow[] {
  const provider = `${model.split('/', 1)[0]}/`;
  return table.filter((row) => row.model.startsWith(provider));
}
