// The expected total cost of a batch, from the items that have ended: from 20 on, which is a usual pilot.
import { costOfCalls, type MeasuredCache } from '../provider-batch/choose-way.ts';
import type { PriceRow } from '../prices/price-row.ts';
import type { BatchVia } from './batch.ts';

/** Calls of a batch with the same number in their conversations that were made live. */
export interface LiveRound {
  n: number;
  requests: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  costMicros: number | null;
}

export interface SpentBatch {
  via: BatchVia;
  total: number;
  ended: number;
  /** Of the ended items; null: not known. */
  costMicros: number | null;
  /** Live calls of a batch that runs otherwise: its pilot, above all. In order. */
  liveRounds: readonly LiveRound[];
  /** Of its model; null: the model has no price. */
  price: PriceRow | null;
  /** Null: nothing was measured lately. */
  measured: Pick<MeasuredCache, 'hitRate'> | null;
}

/** Fewer ends say little about the rest. */
const ENDED_MIN = 20;

/** In micro-dollars; null: not known. */
export function expectedCostMicros(batch: SpentBatch): number | null {
  const { total, ended, costMicros, liveRounds, via } = batch;
  const left = total - ended;
  if (costMicros === null || left <= 0) return costMicros;
  if (ended < ENDED_MIN) return null;
  const liveItems = liveRounds[0]?.requests ?? 0;
  const others = ended - liveItems;
  if (via === 'live' || liveItems === 0) return costMicros + (costMicros / ended) * left;
  const liveMicros = liveRounds.reduce((sum, round) => sum + (round.costMicros ?? 0), 0);
  // The pilot was live, the rest is not: as soon as enough of the rest has ended, that says most.
  if (others >= ENDED_MIN) return costMicros + (Math.max(0, costMicros - liveMicros) / others) * left;
  const perItem = laneCostMicros(batch);
  if (perItem === null) return null;
  return costMicros + left * (via === 'auto' ? Math.min(perItem, liveMicros / liveItems) : perItem);
}

/** The cost of a conversation of the pilot in provider batches. */
function laneCostMicros({ liveRounds, price, measured }: SpentBatch): number | null {
  const [first] = liveRounds;
  const last = liveRounds.at(-1);
  if (first === undefined || last === undefined || price === null || measured === null) return null;
  const sum = (of: (round: LiveRound) => number): number => liveRounds.reduce((total, round) => total + of(round), 0);
  const promptOf = (round: LiveRound): number =>
    (round.inputTokens + round.cacheReadTokens + round.cacheWriteTokens) / round.requests;
  const calls = Math.max(1, Math.round(sum(({ requests }) => requests) / first.requests));
  const profile = {
    promptTokens: promptOf(first),
    // The tokens that the first calls of conversations read from the cache are the beginning that all of them share.
    prefixTokens: first.cacheReadTokens / first.requests,
    previousTokens: 0,
    previousWay: null,
    addedTokens: calls > 1 ? (promptOf(last) - promptOf(first)) / (calls - 1) : 0,
    outputTokens: sum(({ outputTokens }) => outputTokens) / sum(({ requests }) => requests),
    callsLeft: calls,
  };
  const lane = { price, tier: 'batch' as const, hitRate: measured.hitRate };
  return Math.min(costOfCalls(profile, { ...lane, markers: '5m' }), costOfCalls(profile, { ...lane, markers: 'off' }));
}
