// Configured rate limits (`models.limits`): which of them apply to a call, and how much a call
// takes from each. Pure.
import { matchesPattern } from './text.ts';

export const RATE_UNITS = ['requests', 'inputTokens', 'outputTokens'] as const;
export type RateUnit = (typeof RATE_UNITS)[number];

/** An amount of some units. */
export type Amounts = Partial<Record<RateUnit, number>>;

/** A limit as the configuration writes it. */
export interface WrittenLimit {
  /** `provider/model`, in which `*` matches any text. */
  model: string;
  requestsPerMinute?: number;
  inputTokensPerMinute?: number;
  outputTokensPerMinute?: number;
  /** How much of the limit calls of the lane `batch` may use. */
  batchSharePercent: number;
  /** Which input tokens count: those that were not read from the cache, or all. */
  counts: 'uncached' | 'all';
}

/** A limit of one unit that applies to the calls of some lanes. */
export interface RateLimit {
  /** The id of the written limit among those of its account. */
  id: string;
  unit: RateUnit;
  model: string;
  isForBatchesOnly: boolean;
  counts: WrittenLimit['counts'];
  perMinute: number;
}

/**
 * Workers use this part of a limit: the rest makes up for calls that reach the provider closer
 * together than they were made.
 */
const USED_SHARE = 0.97;

/**
 * The limits of a configuration. The share of batches is a separate limit, which applies in
 * addition.
 */
export function toRateLimits(written: readonly WrittenLimit[]): RateLimit[] {
  return written.flatMap((limit) => {
    const { model, counts, batchSharePercent } = limit;
    const units = RATE_UNITS.flatMap((unit) => {
      const perMinute = limit[`${unit}PerMinute`];
      return perMinute === undefined ? [] : [{ id: model, unit, model, isForBatchesOnly: false, counts, perMinute }];
    });
    if (batchSharePercent >= 100) return units;
    const share = { id: `${model} batch`, isForBatchesOnly: true };
    return [
      ...units,
      ...units.map((one) => ({ ...one, ...share, perMinute: (one.perMinute * batchSharePercent) / 100 })),
    ];
  });
}

/** The limits that hold for a call; all of them must have room for it. */
export function limitsFor(
  limits: readonly RateLimit[],
  { model, lane }: { model: string; lane: string },
): readonly RateLimit[] {
  return limits.filter((limit) => matchesPattern(model, limit.model) && (!limit.isForBatchesOnly || lane === 'batch'));
}

/** The refill of a limit per second. */
export function toPerSecond({ perMinute }: RateLimit): number {
  return (perMinute / 60) * USED_SHARE;
}

/** The tokens of a call: expected before it, or as the provider has reported them. */
export interface CallTokens {
  /** Input tokens that are not read from the cache. */
  uncachedTokens: number;
  cacheReadTokens: number;
  outputTokens: number;
}

/** The amount that a call takes from a limit. */
export function toCost({ unit, counts }: Pick<RateLimit, 'unit' | 'counts'>, tokens: CallTokens): number {
  const { uncachedTokens, cacheReadTokens, outputTokens } = tokens;
  return { requests: 1, inputTokens: uncachedTokens + (counts === 'all' ? cacheReadTokens : 0), outputTokens }[unit];
}
