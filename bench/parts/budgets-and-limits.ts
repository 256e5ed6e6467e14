// (m) Turns per second with one budget and one rate limit that never hold a call back, beside a service without any.
import { alternate } from '../rig/alternate.ts';
import type { BarLine } from '../rig/bar.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { describeLoads } from '../rig/closed-loop.ts';
import { turnText } from '../rig/prompts.ts';

export const budgetsAndLimits: BenchPart = { letter: 'm', title: 'turns under a budget and a rate limit', run };

const sessions = 64;

/** Out of reach of any load. */
const settings = {
  budgets: [{ scope: 'all', per: 'day', limitUsd: 1_000_000 }],
  models: { limits: [{ model: 'anthropic/*', requestsPerMinute: 1_000_000, inputTokensPerMinute: 1_000_000_000 }] },
};

async function run(context: BenchContext): Promise<BarLine[]> {
  const { rounds, turnsEach, warmUpTurns } = context.isQuick
    ? { rounds: 2, turnsEach: 6, warmUpTurns: 4 }
    : { rounds: 7, turnsEach: 16, warmUpTurns: 30 };
  const load = { sessions, turnsEach, text: turnText };
  // Budgets hold for a database, so each service has its own.
  const plain = await context.startService({ place: await context.openPlace() });
  const bounded = await context.startService({ place: await context.openPlace(), settings });
  try {
    context.say('warming up');
    for (const service of [plain, bounded]) await service.run({ ...load, turnsEach: warmUpTurns });
    const { runsOf, ratioOf } = await alternate(
      rounds,
      [
        { name: 'plain', measure: () => plain.run(load) },
        { name: 'bounded', measure: () => bounded.run(load) },
      ],
      ({ turnsPerSecond }) => turnsPerSecond,
    );
    return [
      {
        part: 'm',
        what: 'turns/s with one budget and one limit, to none',
        floor: describeLoads(runsOf('plain')),
        holdfast: describeLoads(runsOf('bounded')),
        measured: ratioOf('bounded', 'plain'),
        unit: 'x',
        bar: 0.94,
        sense: 'atLeast',
      },
    ];
  } finally {
    await stopAll([plain, bounded]);
  }
}

async function stopAll(services: readonly BenchService[]): Promise<void> {
  await Promise.all(services.map((service) => service.stop()));
}
