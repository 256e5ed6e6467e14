// (m) Turns per second with prices, beside a service whose model has no price; and with one budget
// and one rate limit that never hold a call back, beside a service without any.
import builtInPrices from '../../src/core/prices/anthropic.json' with { type: 'json' };
import { alternate } from '../rig/alternate.ts';
import type { BarLine } from '../rig/bar.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { describeLoads } from '../rig/closed-loop.ts';
import { turnText } from '../rig/prompts.ts';

export const budgetsAndLimits: BenchPart = { letter: 'm', title: 'turns with prices, a budget and a rate limit', run };

const sessions = 64;

/**
 * Replaces each built-in price with one that has expired. The cost of a call is then unknown, and
 * all else is the same.
 */
const unpricedSettings = {
  models: {
    prices: builtInPrices.map(({ model, from }: { model: string; from?: string }) => ({
      model,
      from,
      to: from ?? '2000-01-01',
      inputPerMTok: 0,
      outputPerMTok: 0,
    })),
  },
};

/** Out of reach of any load. */
const boundedSettings = {
  budgets: [{ scope: 'all', per: 'day', limitUsd: 1_000_000 }],
  models: { limits: [{ model: 'anthropic/*', requestsPerMinute: 1_000_000, inputTokensPerMinute: 1_000_000_000 }] },
};

async function run(context: BenchContext): Promise<BarLine[]> {
  const { rounds, turnsEach, warmUpTurns } = context.isQuick
    ? { rounds: 2, turnsEach: 6, warmUpTurns: 4 }
    : { rounds: 7, turnsEach: 16, warmUpTurns: 30 };
  const load = { sessions, turnsEach, text: turnText };
  const services: BenchService[] = [];
  // Budgets hold for a database, so each service has its own.
  const start = async (settings: object): Promise<BenchService> => {
    const service = await context.startService({ place: await context.openPlace(), settings });
    services.push(service);
    return service;
  };
  try {
    const unpriced = await start(unpricedSettings);
    const plain = await start({});
    const bounded = await start(boundedSettings);
    context.say('warming up');
    for (const service of services) await service.run({ ...load, turnsEach: warmUpTurns });
    await expectPrices(unpriced, false);
    await expectPrices(plain, true);
    const { runsOf, ratioOf } = await alternate(
      rounds,
      [
        { name: 'unpriced', measure: () => unpriced.run(load) },
        { name: 'plain', measure: () => plain.run(load) },
        { name: 'bounded', measure: () => bounded.run(load) },
      ],
      ({ turnsPerSecond }) => turnsPerSecond,
    );
    const figure = { part: 'm', unit: 'x', sense: 'atLeast' } as const;
    return [
      {
        ...figure,
        what: 'turns/s with prices, to none',
        floor: describeLoads(runsOf('unpriced')),
        holdfast: describeLoads(runsOf('plain')),
        measured: ratioOf('plain', 'unpriced'),
        bar: 0.97,
      },
      {
        ...figure,
        what: 'turns/s with one budget and one limit, to none',
        floor: describeLoads(runsOf('plain')),
        holdfast: describeLoads(runsOf('bounded')),
        measured: ratioOf('bounded', 'plain'),
        bar: 0.94,
      },
    ];
  } finally {
    await Promise.all(services.map((service) => service.stop()));
  }
}

/**
 * Rejects when the newest turn has a cost although it should not, or has none although it should:
 * the comparison would mean nothing.
 */
async function expectPrices(service: BenchService, isPriced: boolean): Promise<void> {
  const { items } = (await service.ask('GET', '/v1/turns?limit=1')) as { items: { costMicros: number | null }[] };
  const costMicros = items[0]?.costMicros;
  if (costMicros === undefined || (costMicros !== null) !== isPriced) {
    throw new Error(`the newest turn has the cost ${costMicros}; expected was ${isPriced ? 'a number' : 'null'}`);
  }
}
