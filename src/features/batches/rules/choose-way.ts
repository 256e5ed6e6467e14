// `via: auto`: the first items of a batch go through the provider, and what they cost decides once
// how the others are asked. Half the price is not half the bill: a live call reads from the cache
// what the call before it has put there, while requests of a batch find it there only sometimes.
// Table and rules: docs/batches.md.
import type { Way } from '../../../core/inbound.ts';
import { callCostMicros, toDollars } from '../../../core/prices.ts';
import { moneyText } from '../../../core/words.ts';
import type { PriceRow } from '../../../core/price-row.ts';
import type { CacheSetting } from '../../../core/cache-markers.ts';

/** How the items of a batch are asked. */
export interface Choice {
  via: Way;
  /** How their prompts are kept in the provider's cache; absent: as the batch says. */
  cache?: 'off';
  /** For people. */
  reason: string;
}

/**
 * The answered calls with the same number in their conversations, of the items that went through
 * the provider.
 */
export interface MeasuredRound {
  answered: number;
  /** Tokens of their prompts, however they were priced. */
  promptTokens: number;
  outputTokens: number;
  /** What they cost, and what the same answers would have cost in live calls; null: not known. */
  costMicros: number | null;
  liveMicros: number | null;
}

/** The cheapest way by the rounds so far. `price`: of the batch's model; null: it has none. */
export function chooseWay(
  rounds: readonly MeasuredRound[],
  { price, cache }: { price: PriceRow | null; cache: CacheSetting },
): Choice {
  const answered = rounds.filter((round) => round.answered > 0);
  if (answered.length === 0)
    return {
      via: 'live',
      reason: 'None of the first items was answered in a provider batch, so the ways cannot be compared.',
    };
  const cost = sumRounds(answered, (round) => round.costMicros);
  const live = sumRounds(answered, (round) => round.liveMicros);
  if (cost === null || live === null)
    return { via: 'live', reason: 'The model has no price, so the ways cannot be compared.' };
  const plain = cache === 'auto' && price !== null ? sumRounds(answered, (round) => plainMicros(price, round)) : null;
  const isPlain = plain !== null && plain < cost;
  const cheapest = isPlain ? plain : cost;
  const amounts = `${moneyText(toDollars(cheapest))} against ${moneyText(toDollars(live))} live, for the first items.`;
  if (cheapest >= live) return { via: 'live', reason: `Not cheaper in a batch: ${amounts}` };
  if (!isPlain) return { via: 'provider-batch', reason: `Cheaper in a batch: ${amounts}` };
  return { via: 'provider-batch', cache: 'off', reason: `Cheaper in a batch without its cache: ${amounts}` };
}

/** The cost of a round in a batch whose prompts are not kept in the cache. */
function plainMicros(price: PriceRow, { answered, promptTokens, outputTokens }: MeasuredRound): number {
  const usual = {
    inputTokens: Math.round(promptTokens / answered),
    outputTokens: Math.round(outputTokens / answered),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  };
  return answered * callCostMicros(price, usual, 'batch');
}

/** Null: one of them is not known. */
function sumRounds(rounds: readonly MeasuredRound[], read: (round: MeasuredRound) => number | null): number | null {
  return rounds.reduce<number | null>((sum, round) => {
    const micros = read(round);
    return sum === null || micros === null ? null : sum + micros;
  }, 0);
}
