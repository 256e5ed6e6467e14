// (plain) Plain turns, of one model call and a short prompt, of this tree or a newer commit and of
// an older commit by turns, by the number of sessions: turns per second and processor time per turn
// of processes that have just started and of warm ones.
import { alternate, type Alternation } from '../rig/alternate.ts';
import { serverPidOf } from '../rig/ask-database.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { openTrees, type ComparedCommits, type ComparedSide, type ComparedTrees } from '../rig/compared-trees.ts';
import { processorMsOf } from '../rig/process-tree.ts';
import { plainTurnText } from '../rig/prompts.ts';
import { medianOf } from '../rig/statistics.ts';
import { earlierRates } from '../rig/turn-bars.ts';

/** The comparison of these commits. */
export function plainTurns({ before, after }: ComparedCommits): BenchPart {
  return {
    letter: 'plain',
    title: `plain turns of ${after ?? 'this tree'} and of an older commit (${before})`,
    run: (context) => run(context, { before, after }),
  };
}

const counts = [1, 8, 32, 128] as const;
type Count = (typeof counts)[number];

/** Of a session. Then a new one follows: each turn makes its history longer. */
const turnsEach = 16;

export interface Figures {
  turnsPerSecond: number;
  /** Processor time per turn in milliseconds: of the service, and with its PostgreSQL server. */
  serviceMs: number;
  bothMs: number;
}

type Found = Alternation<ComparedSide, Figures>;
type Heat = keyof typeof earlierRates;

/** A service, and the process of its PostgreSQL server. */
interface Measured {
  service: BenchService;
  server: number;
}

async function run(context: BenchContext, commits: ComparedCommits): Promise<BarLine[]> {
  const { rounds, turns } = context.isQuick ? { rounds: 2, turns: 64 } : { rounds: 5, turns: 512 };
  const trees = await openTrees(context, commits);
  const lines: BarLine[] = [];
  const add = (heat: Heat, count: Count, found: Found): void => {
    // The bars are promises of this tree.
    lines.push(...linesOf(heat, count, found).map((line) => (commits.after === null ? line : { ...line, bar: null })));
  };
  try {
    for (const count of counts) {
      context.say(`${count} sessions after a start, ${rounds} rounds`);
      add(
        'cold',
        count,
        await byTurns(rounds, (side) => withTree(context, trees[side], (one) => measure(one, count, turns))),
      );
    }
    await withTree(context, trees.before, (before) =>
      withTree(context, trees.after, async (after) => {
        const sides = { before, after };
        context.say('warming up');
        for (const one of [before, after]) await measure(one, 32, 2 * turns);
        for (const count of counts) {
          context.say(`${count} sessions, ${rounds} rounds`);
          add('warm', count, await byTurns(rounds, (side) => measure(sides[side], count, turns)));
        }
      }),
    );
    return lines;
  } finally {
    trees.remove();
  }
}

function byTurns(rounds: number, measureSide: (side: ComparedSide) => Promise<Figures>): Promise<Found> {
  return alternate(
    rounds,
    [
      { name: 'before', measure: () => measureSide('before') },
      { name: 'after', measure: () => measureSide('after') },
    ],
    ({ turnsPerSecond }) => turnsPerSecond,
  );
}

async function withTree<Result>(
  context: BenchContext,
  options: ComparedTrees[ComparedSide],
  work: (measured: Measured) => Promise<Result>,
): Promise<Result> {
  const { databaseUrl } = options.place ?? context.place;
  return await withService(context, options, async (service) =>
    work({ service, server: await serverPidOf(databaseUrl) }),
  );
}

/** At least so many turns, in as many new sessions at a time as `count` says. */
export async function measure({ service, server }: Measured, count: number, turns: number): Promise<Figures> {
  const runs = Math.ceil(turns / (count * turnsEach));
  const keys = await service.seed(count * runs, 0);
  const read = () => ({ service: processorMsOf(service.pids, 'postgres'), postgres: processorMsOf([server]) });
  const before = read();
  let seconds = 0;
  for (let at = 0; at < keys.length; at += count) {
    const sessions = keys.slice(at, at + count);
    const ended = await service.run({ sessions, turnsEach, text: plainTurnText });
    seconds += ended.turns / ended.turnsPerSecond;
  }
  const after = read();
  const all = keys.length * turnsEach;
  const serviceMs = (after.service - before.service) / all;
  return { turnsPerSecond: all / seconds, serviceMs, bothMs: serviceMs + (after.postgres - before.postgres) / all };
}

function linesOf(heat: Heat, count: Count, { runsOf, ratioOf }: Found): BarLine[] {
  const line = (what: string, unit: string, valueOf: (figures: Figures) => number) => {
    const text = (side: ComparedSide): string => formatNumber(medianOf(runsOf(side), valueOf)) + unit;
    return {
      part: 'plain',
      what: `${what}, ${count} sessions, ${heat}`,
      floor: `before ${text('before')}`,
      holdfast: text('after'),
      measured: ratioOf('after', 'before', valueOf),
      unit: 'x',
    };
  };
  return [
    {
      ...line('turns/s', '/s', ({ turnsPerSecond }) => turnsPerSecond),
      bar: earlierRates[heat][count],
      sense: 'atLeast',
    },
    { ...line('processor time of the service per turn', ' ms', ({ serviceMs }) => serviceMs), bar: null },
    { ...line('the same with PostgreSQL', ' ms', ({ bothMs }) => bothMs), bar: null },
  ];
}
