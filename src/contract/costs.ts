// Costs on the wire: the fields that everything with a cost has in common.
import { z } from 'zod';
import { TURN_KINDS } from '../core/statuses.ts';
import { text, flag, amount, uuid, iso, count, sessionKey, sessionTitle, startedAt } from './fields.ts';

/** A cost in dollars and in whole micro-dollars; both null when it is not known. */
export const costOf = {
  costUsd: amount.describe('The cost in US dollars; null: not known, because the model has no price'),
  costMicros: count.nullable().describe('The same in whole micro-dollars, which add up exactly; null: not known'),
};

export const unpricedCalls = count.describe('Model calls with an unknown cost, because their model has no price');
export const simulated = flag.describe('Whether a part was answered by the scripted model, which costs nothing');

/** The cost of an object that can have several model calls. */
export const costFields = { ...costOf, unpricedCalls, simulated };

export const tokenCounts = {
  inputTokens: count.describe('Input tokens that were not in the cache'),
  outputTokens: count.describe('Output tokens'),
  cacheReadTokens: count.describe("Input tokens read from the provider's cache"),
  cacheWriteTokens: count.describe("Input tokens written to the provider's cache"),
};

const pricesPerMTok = {
  inputPerMTok: z.number().describe('Dollars per million input tokens that were not in the cache'),
  outputPerMTok: z.number().describe('Dollars per million tokens of the answer'),
  cacheReadPerMTok: z.number().describe('Dollars per million tokens read from the cache'),
  cacheWrite5mPerMTok: z.number().describe('Dollars per million tokens written to the cache for five minutes'),
  cacheWrite1hPerMTok: z.number().describe('Dollars per million tokens written to the cache for an hour'),
};

const priceRow = z.strictObject({
  model: text.describe('The models that the row applies to, as provider/model, in which * matches any text'),
  from: z.iso.date().nullable().describe('The first day on which the row is in effect; null: it has no beginning'),
  to: z.iso.date().nullable().describe('The last day on which the row is in effect; null: it has no end'),
  ...pricesPerMTok,
  longPrompt: z
    .strictObject({
      overTokens: count.describe('These prices apply to prompts with more tokens than this'),
      ...pricesPerMTok,
    })
    .nullable()
    .describe('The prices of calls with a long prompt; null: the same'),
  batchPercent: z.number().describe('The price of a call in a provider batch, in percent of these prices'),
  source: text.describe('Where the prices were published'),
  checkedAt: z.iso.date().nullable().describe('When the prices were last compared with their source; null: not known'),
});
export type PriceRowAnswer = z.output<typeof priceRow>;

export const prices = z.strictObject({
  version: text.describe('The version of the price table'),
  simulated,
  rows: z.array(priceRow).describe('The rows of the price table; the first one that matches a model and a day applies'),
});
export type Prices = z.output<typeof prices>;

export const usageItem = z.strictObject({
  startsAt: iso.describe('When the interval starts'),
  group: text.nullable().describe('The agent, model, lane, tier or kind; null: the request asked for no groups'),
  turns: count.describe('Turns that ended'),
  failedTurns: count.describe('Turns that failed or timed out'),
  calls: count.describe('Model calls that ended'),
  failures: count.describe('Model calls that failed'),
  unpricedCalls,
  ...tokenCounts,
  cacheWrite1hTokens: count.describe('The part of `cacheWriteTokens` that the provider keeps for an hour'),
  ...costOf,
  waitMs: count.describe('The total time that turns waited before they started, in milliseconds'),
  turnMs: count.describe('The total duration of the turns, in milliseconds'),
  callMs: count.describe('The total duration of the calls, in milliseconds'),
  firstChunkMs: count.describe('The total time to the first parts of the answers of these calls, in milliseconds'),
  simulated,
});
export type UsageItem = z.output<typeof usageItem>;

export const usageReport = z.strictObject({
  items: z.array(usageItem).describe('The intervals, oldest first, and in each the groups'),
  simulated,
});
export type UsageReport = z.output<typeof usageReport>;

const knownCost = {
  costUsd: z.number().describe('The cost in US dollars'),
  costMicros: count.describe('The same in whole micro-dollars, which add up exactly'),
  simulated,
};

export const topCosts = z.strictObject({
  turns: z
    .array(
      z.strictObject({
        id: uuid.describe('The id of the turn'),
        title: text.describe('What the turn answers, in one line'),
        sessionKey,
        sessionTitle,
        kind: z.enum(TURN_KINDS).describe('What the turn answers'),
        model: text.describe('The model that answered'),
        startedAt,
        ...knownCost,
      }),
    )
    .describe('The turns with the highest costs'),
  sessions: z
    .array(
      z.strictObject({
        sessionKey,
        sessionTitle,
        turns: count.describe('The number of its turns with a cost'),
        ...knownCost,
      }),
    )
    .describe('The sessions whose turns cost the most together'),
  crons: z
    .array(
      z.strictObject({
        id: uuid.describe('The id of the cron'),
        name: text.describe('The name of the cron'),
        turns: count.describe('The number of its turns with a cost'),
        ...knownCost,
      }),
    )
    .describe('The crons whose turns cost the most together; deleted ones are left out'),
  turnsRead: count.describe('The number of turns that were compared'),
  isCapped: flag.describe('Whether older turns of the time were not compared'),
  simulated,
});
export type TopCosts = z.output<typeof topCosts>;
