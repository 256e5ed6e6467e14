// Routes about money: usage, and the price table in use.
import { z } from 'zod';
import { USAGE_GROUPS, USAGE_STEPS, type UsageStep } from '../../core/prices.ts';
import { perMillionTokens, type PriceRow } from '../../core/price-row.ts';
import { viewTopCosts, viewUsage } from './views.ts';
import { Problem } from '../../api/problem.ts';
import { defineRead, type Route } from '../../api/route.ts';
import { prices, topCosts, usageReport, type PriceRowAnswer } from '../../contract/costs.ts';
import { timeText } from '../../config/schema-scalars.ts';
import { countText, tagText } from '../../contract/queries.ts';

const getPrices = defineRead({
  operationId: 'getPrices',
  belongs: 'service',
  path: '/v1/prices',
  summary: 'The price table in use',
  shows: { description: 'Its version and its rows, in the order in which they are matched', schema: prices },
  async read(_request, { context }) {
    const { version, table } = context.service.prices;
    return { version, simulated: context.modelInfo.isScripted, rows: table.map(toRowAnswer) };
  },
});

function toRowAnswer({ prices: own, longPrompt, ...row }: PriceRow): PriceRowAnswer {
  return {
    ...row,
    ...perMillionTokens(own),
    longPrompt:
      longPrompt === null ? null : { overTokens: longPrompt.overTokens, ...perMillionTokens(longPrompt.prices) },
  };
}

const MINUTE_MS = 60_000;
const STEP_MS: Readonly<Record<UsageStep, number>> = {
  minute: MINUTE_MS,
  hour: 60 * MINUTE_MS,
  day: 24 * 60 * MINUTE_MS,
};

/** How many steps are shown when `from` does not say. */
const STEPS_DEFAULT: Readonly<Record<UsageStep, number>> = { minute: 60, hour: 24, day: 30 };

const STEPS_MAX = 5_000;

const getUsage = defineRead({
  operationId: 'getUsage',
  belongs: 'agents',
  path: '/v1/usage',
  summary: 'Usage and cost by minute, hour or day in UTC, oldest first',
  query: z.strictObject({
    by: z.enum(USAGE_STEPS).optional().describe('The length of an interval; absent: day'),
    from: timeText
      .optional()
      .describe('Only intervals from this time on; absent: an hour, a day or 30 days ago, by their length'),
    to: timeText.optional().describe('Only intervals that start before this time; absent: now'),
    group: z.enum(USAGE_GROUPS).optional().describe('What the usage is grouped by; absent: one item per interval'),
    tag: tagText.optional().describe('Only turns with this tag, as `key:value`'),
  }),
  shows: { description: 'The intervals with usage', schema: usageReport },
  async read({ query, principal: { scope } }, { context }) {
    const { by = 'day', group = null } = query;
    const stepMs = STEP_MS[by];
    // A minute more: the clock of the database may be ahead.
    const to = query.to === undefined ? new Date(context.clock.now().getTime() + MINUTE_MS) : new Date(query.to);
    const fromMs =
      query.from === undefined ? to.getTime() - (STEPS_DEFAULT[by] - 1) * stepMs : new Date(query.from).getTime();
    const from = new Date(Math.floor(fromMs / stepMs) * stepMs);
    const steps = Math.ceil((to.getTime() - from.getTime()) / stepMs);
    if (steps > STEPS_MAX) {
      const detail = `From ${from.toISOString()} to ${to.toISOString()} there are ${steps} intervals of a ${by}; at most ${STEPS_MAX} are allowed. Send a later \`from\` or a longer \`by\`.`;
      throw new Problem('invalid_query', detail, {
        errors: [{ path: 'from', message: `expected at most ${STEPS_MAX} intervals` }],
      });
    }
    const items = await viewUsage(context.views, { by, from, to, group, tags: query.tag, scope });
    return { items, simulated: items.some(({ simulated }) => simulated) };
  },
});

/** How many of each are shown when `limit` does not say, and at most. */
const TOP_COSTS_DEFAULT = 10;
const TOP_COSTS_MAX = 100;

const getTopCosts = defineRead({
  operationId: 'getTopCosts',
  belongs: 'agents',
  path: '/v1/usage/top',
  summary: 'The most expensive turns, sessions and crons among the newest 10,000 turns of a time span',
  query: z.strictObject({
    from: timeText.optional().describe('Only turns that started at this time or later; absent: a day ago'),
    limit: countText.optional().describe('The number of turns, of sessions and of crons; absent: 10; at most 100'),
    tag: tagText.optional().describe('Only turns with this tag, as `key:value`'),
  }),
  shows: { description: 'The most expensive first', schema: topCosts },
  async read({ query, principal: { scope } }, { context }) {
    const dayAgoMs = context.clock.now().getTime() - STEP_MS.day;
    const from = query.from === undefined ? new Date(dayAgoMs) : new Date(query.from);
    const limit = Math.min(query.limit ?? TOP_COSTS_DEFAULT, TOP_COSTS_MAX);
    return await viewTopCosts(context.views, { from, limit, tags: query.tag, scope });
  },
});

export const routes: Route[] = [getUsage, getTopCosts, getPrices];
