// Routes about money: the price table in use.
import { perMillionTokens, type PriceRow } from '../../core/prices/price-row.ts';
import { defineRoute, type Route } from '../route.ts';
import { prices, type PriceRowAnswer } from '../schemas/costs.ts';

const getPrices = defineRoute({
  method: 'GET',
  path: '/v1/prices',
  summary: 'The price table in use',
  answers: { 200: { description: 'Its version, and its rows: those that hold first, first', schema: prices } },
  async handle(_request, { context }) {
    const { version, table } = context.service.prices;
    return {
      status: 200,
      body: { version, simulated: context.modelInfo.isScripted, rows: table.map(rowAnswerOf) },
    };
  },
});

function rowAnswerOf({ prices: own, longPrompt, ...row }: PriceRow): PriceRowAnswer {
  return {
    ...row,
    ...perMillionTokens(own),
    longPrompt:
      longPrompt === null ? null : { overTokens: longPrompt.overTokens, ...perMillionTokens(longPrompt.prices) },
  };
}

export const costRoutes: Route[] = [getPrices];
