// Costs on the wire: the fields that everything with a cost has in common.
import { z } from 'zod';
import { TURN_KINDS } from '../core/turn-kind.ts';

/** A cost in dollars and in whole micro-dollars; both null when it is not known. */
export const costOf = { costUsd: z.number().nullable(), costMicros: z.int().min(0).nullable() };

/** The cost of an object that can have several model calls. */
export const costFields = { ...costOf, unpricedCalls: z.int().min(0), simulated: z.boolean() };

const pricesPerMTok = {
  inputPerMTok: z.number(),
  outputPerMTok: z.number(),
  cacheReadPerMTok: z.number(),
  cacheWrite5mPerMTok: z.number(),
  cacheWrite1hPerMTok: z.number(),
};

const priceRow = z.strictObject({
  model: z.string(),
  from: z.iso.date().nullable(),
  to: z.iso.date().nullable(),
  ...pricesPerMTok,
  longPrompt: z.strictObject({ overTokens: z.int().min(0), ...pricesPerMTok }).nullable(),
  batchPercent: z.number(),
  source: z.string(),
  checkedAt: z.iso.date().nullable(),
});
export type PriceRowAnswer = z.output<typeof priceRow>;

export const prices = z.strictObject({ version: z.string(), simulated: z.boolean(), rows: z.array(priceRow) });
export type Prices = z.output<typeof prices>;

const count = z.int().min(0);

const usageItem = z.strictObject({
  startsAt: z.iso.datetime(),
  group: z.string().nullable(),
  turns: count,
  failedTurns: count,
  calls: count,
  failures: count,
  unpricedCalls: count,
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  cacheWrite1hTokens: count,
  ...costOf,
  waitMs: count,
  turnMs: count,
  callMs: count,
  firstChunkMs: count,
  simulated: z.boolean(),
});
export type UsageItem = z.output<typeof usageItem>;

export const usageReport = z.strictObject({ items: z.array(usageItem), simulated: z.boolean() });
export type UsageReport = z.output<typeof usageReport>;

const knownCost = { costUsd: z.number(), costMicros: count, simulated: z.boolean() };

export const topCosts = z.strictObject({
  turns: z.array(
    z.strictObject({
      id: z.uuid(),
      sessionKey: z.string(),
      kind: z.enum(TURN_KINDS),
      model: z.string(),
      startedAt: z.iso.datetime(),
      ...knownCost,
    }),
  ),
  sessions: z.array(z.strictObject({ sessionKey: z.string(), turns: count, ...knownCost })),
  crons: z.array(z.strictObject({ id: z.uuid(), name: z.string(), turns: count, ...knownCost })),
  turnsRead: count,
  isCapped: z.boolean(),
  simulated: z.boolean(),
});
export type TopCosts = z.output<typeof topCosts>;
