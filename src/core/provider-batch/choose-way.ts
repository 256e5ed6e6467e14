// `via: auto`: which way the next calls of a turn are cheaper, live or through batches of the provider, and how long the provider's cache should
// keep their prompts. Half the price is not half the bill: a live call reads from the cache what the call before it has put there, while
// requests of a batch find it there only sometimes. Table and rules: docs/batches.md.
import { callCostMicros, type PriceTier } from '../prices/call-cost.ts';
import type { PriceRow } from '../prices/price-row.ts';
import type { CacheMarkers, CacheSetting } from './cache-markers.ts';

/** The facts of a turn's next call and of those after it. Tokens are estimates. */
export interface NextCalls {
  /** Of the whole prompt of the next call. */
  promptTokens: number;
  /** Its beginning, which all conversations of the agent share. */
  prefixTokens: number;
  /** The tokens that the call before it, of the same turn, has written into the cache; 0: there was none. */
  previousTokens: number;
  /** The way which that call took; null: there was none. */
  previousWay: Way | null;
  /** By how much each call after it has a longer prompt. */
  addedTokens: number;
  outputTokens: number;
  /** How many calls the turn will make, this one included. */
  callsLeft: number;
}

/** The last measured effect of the provider's cache on batches. */
export interface MeasuredCache {
  /** Tokens that were read, for each that an earlier request had put there. More than 1 is possible: equal requests of one batch. */
  hitRate: number;
  ageMs: number;
  /** How long the last submission took, in milliseconds; null: not known. */
  tookMs: number | null;
}

export type Way = 'live' | 'provider-batch';

export interface ChosenWay {
  way: Way;
  /** Of the requests of the batch. */
  markers: CacheMarkers;
  /** For people. */
  reason: string;
}

/** A measurement that is older says nothing about the next batch, in milliseconds. */
export const MEASURED_MS_MAX = 24 * 3_600_000;

/** The cache keeps a prompt for five minutes: a round that takes longer needs the longer time. */
const SHORT_MS = 300_000;

/** The cheaper way. `price` null: the model has no price, and nothing can be compared. */
export function chooseWay(
  calls: NextCalls,
  about: { price: PriceRow | null; measured: MeasuredCache | null; cache: CacheSetting; cacheTokensMin: number },
): ChosenWay {
  const { price, measured } = about;
  const markers = chooseMarkers(calls, about);
  if (price === null)
    return { way: 'live', markers, reason: 'The model has no price, so the ways cannot be compared.' };
  const isCached = calls.promptTokens >= about.cacheTokensMin;
  const live = costOfCalls(calls, { price, tier: 'standard', markers: isCached ? '5m' : 'off', hitRate: 1 });
  if (measured === null) {
    // Without markers the cache does not matter.
    const plain = costOfCalls(calls, { price, tier: 'batch', markers: 'off', hitRate: 0 });
    const isCheaper = plain < live;
    return {
      way: isCheaper ? 'provider-batch' : 'live',
      markers: isCheaper ? 'off' : markers,
      reason: `${isCheaper ? 'Cheaper' : 'Not cheaper'} in a batch without its cache: ${dollars(plain)} against ${dollars(live)} live. The cache was not measured in the last 24 hours.`,
    };
  }
  const { hitRate } = measured;
  const batch = costOfCalls(calls, { price, tier: 'batch', markers, hitRate });
  const isCheaper = batch < live;
  return {
    way: isCheaper ? 'provider-batch' : 'live',
    markers,
    reason: `${isCheaper ? 'Cheaper' : 'Not cheaper'} in a batch: about ${dollars(batch)} against ${dollars(live)} live, for ${calls.callsLeft} calls, at a cache hit rate of ${percent(hitRate)}.`,
  };
}

/**
 * How the requests of a batch are kept in the cache. Writing a prompt costs more than sending it, so it has to be read often enough. While
 * nothing is measured they are kept, or nothing would ever be.
 */
export function chooseMarkers(
  calls: NextCalls,
  about: { price: PriceRow | null; measured: MeasuredCache | null; cache: CacheSetting; cacheTokensMin: number },
): CacheMarkers {
  const { price, measured, cache } = about;
  if (cache !== 'auto') return cache;
  if (calls.promptTokens < about.cacheTokensMin) return 'off';
  const kept = (measured?.tookMs ?? 0) > SHORT_MS ? '1h' : '5m';
  if (measured === null || price === null) return kept;
  const cost = (markers: CacheMarkers): number =>
    costOfCalls(calls, { price, tier: 'batch', markers, hitRate: measured.hitRate });
  return cost(kept) <= cost('off') ? kept : 'off';
}

/** The cost of the remaining calls, in micro-dollars. If the previous call went the other way, only the shared beginning is in the cache. */
export function costOfCalls(
  calls: NextCalls,
  { price, tier, markers, hitRate }: { price: PriceRow; tier: PriceTier; markers: CacheMarkers; hitRate: number },
): number {
  const way: Way = tier === 'batch' ? 'provider-batch' : 'live';
  let held = calls.previousWay === way ? Math.max(calls.previousTokens, calls.prefixTokens) : calls.prefixTokens;
  let micros = 0;
  for (let call = 0; call < calls.callsLeft; call += 1) {
    const promptTokens = Math.round(calls.promptTokens + call * calls.addedTokens);
    const read = markers === 'off' ? 0 : Math.min(promptTokens, Math.round(held * hitRate));
    const written = markers === 'off' ? 0 : promptTokens - read;
    // The beginning alone is kept for an hour.
    const prefixWritten = Math.max(0, Math.min(calls.prefixTokens, promptTokens) - read);
    const tokens = {
      inputTokens: promptTokens - read - written,
      outputTokens: Math.round(calls.outputTokens),
      cacheReadTokens: read,
      cacheWriteTokens: written,
      cacheWrite1hTokens: markers === '1h' ? prefixWritten : 0,
    };
    micros += callCostMicros(price, tokens, tier);
    held = promptTokens;
  }
  return micros;
}

const MICROS_PER_DOLLAR = 1_000_000;

function dollars(micros: number): string {
  return `$${(micros / MICROS_PER_DOLLAR).toFixed(4)}`;
}

function percent(rate: number): string {
  return `${Math.round(Math.min(rate, 1) * 100)} %`;
}
