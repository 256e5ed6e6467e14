// `npm run bench`: every benchmark in one run on this machine, with its baseline beside it, and
// whether its bar is met. `npm run bench -- --help` lists options and parts. Ends with 1 when a bar
// is missed, with 2 when a benchmark fails.
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { performance } from 'node:perf_hooks';
import { alone } from './parts/alone.ts';
import { assembly } from './parts/assembly.ts';
import { batches } from './parts/batches.ts';
import { beforeAndAfter } from './parts/before-and-after.ts';
import { budgetsAndLimits } from './parts/budgets-and-limits.ts';
import { chats } from './parts/chats.ts';
import { commits } from './parts/commits.ts';
import { compaction } from './parts/compaction.ts';
import { cronBursts } from './parts/cron-bursts.ts';
import { dashboardBuild } from './parts/dashboard-build.ts';
import { dashboard } from './parts/dashboard.ts';
import { evaluations } from './parts/evaluations.ts';
import { fairBatches } from './parts/fair-batches.ts';
import { growth } from './parts/growth.ts';
import { idle } from './parts/idle.ts';
import { liveBatches } from './parts/live-batches.ts';
import { longTurns } from './parts/long-turns.ts';
import { memory } from './parts/memory.ts';
import { parkedTurns } from './parts/parked-turns.ts';
import { peers } from './parts/peers.ts';
import { plainTurns } from './parts/plain-turns.ts';
import { queueing } from './parts/queueing.ts';
import { rings } from './parts/rings.ts';
import { sandboxed } from './parts/sandbox.ts';
import { scaling } from './parts/scaling.ts';
import { scopes } from './parts/scopes.ts';
import { slowModel } from './parts/slow-model.ts';
import { startUp } from './parts/start-up.ts';
import { statisticsAtScale } from './parts/statistics-at-scale.ts';
import { tabs } from './parts/tabs.ts';
import { throughput } from './parts/throughput.ts';
import { traces } from './parts/traces.ts';
import { whereATurnGoes } from './parts/where-a-turn-goes.ts';
import { wires } from './parts/wires.ts';
import { formatBars, verdictOf, type BarLine } from './rig/bar.ts';
import { openBenchContext, type BenchContext, type BenchPart } from './rig/bench-context.ts';
import type { ComparedCommits } from './rig/compared-trees.ts';
import { beforeDefault, formatUsage, readArguments, type BenchArguments } from './rig/read-arguments.ts';

const partsWith = (compared: ComparedCommits): BenchPart[] => [
  throughput,
  alone,
  commits,
  slowModel,
  longTurns,
  memory,
  startUp,
  assembly,
  compaction,
  queueing,
  batches,
  liveBatches,
  budgetsAndLimits,
  statisticsAtScale,
  fairBatches,
  evaluations,
  scopes,
  dashboard,
  dashboardBuild,
  tabs,
  traces,
  whereATurnGoes,
  chats,
  wires,
  sandboxed,
  idle,
  rings,
  cronBursts,
  parkedTurns,
  scaling,
  growth,
  peers,
  plainTurns(compared),
  beforeAndAfter(compared),
];

/** A load average above this belongs to others. */
const busyLoad = 0.7;

/** More than any run has concurrently. */
const processesMax = 50;

const exitCodes = { met: 0, missed: 1, failed: 2 };

async function main(): Promise<number> {
  const names = partsWith({ before: beforeDefault, after: null });
  let given: BenchArguments | null;
  try {
    given = readArguments(process.argv.slice(2), names);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return exitCodes.failed;
  }
  if (given === null) {
    console.log(formatUsage(names));
    return exitCodes.met;
  }
  const { letters, isQuick, before, after } = given;
  const begin = performance.now();
  // Each process that is started adds a listener for the end of this one.
  process.setMaxListeners(processesMax);
  sayMachine();
  const context = await openBenchContext({ isQuick, say: (text) => console.log(`    ${text}`) });
  closeOnSignal(context);
  const lines: BarLine[] = [];
  let failures = 0;
  for (const part of partsWith({ before, after }).filter(({ letter }) => letters.includes(letter))) {
    console.log(`(${part.letter}) ${part.title}`);
    try {
      lines.push(...(await part.run(context)));
    } catch (error) {
      failures += 1;
      console.error(error instanceof Error ? error.stack : error);
    }
  }
  await context.close();
  console.log(`\n${formatBars(lines)}\n`);
  const count = (verdict: string): number => lines.filter((line) => verdictOf(line) === verdict).length;
  const seconds = ((performance.now() - begin) / 1000).toFixed(0);
  console.log(
    `${count('pass')} bars met, ${count('MISS')} missed, ${count('not measured')} not measured, ${failures} parts failed; ` +
      `${seconds} s, load at the end ${loadText()}${isQuick ? '; a quick run, so trust it less' : ''}`,
  );
  if (failures > 0) return exitCodes.failed;
  return count('MISS') > 0 ? exitCodes.missed : exitCodes.met;
}

/** The PostgreSQL server outlives its parent unless the parent stops it. */
function closeOnSignal(context: BenchContext): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void context.abandon().finally(() => process.exit(exitCodes.failed)));
  }
}

function sayMachine(): void {
  const memoryGiB = (totalmem() / 2 ** 30).toFixed(0);
  console.log(`Node ${process.version}, ${availableParallelism()} x ${cpus()[0]?.model ?? '?'}, ${memoryGiB} GiB`);
  if ((loadavg()[0] ?? 0) > busyLoad) {
    console.log(`The machine is busy already (load ${loadText()}): trust the ratios little and the times not at all.`);
  }
}

function loadText(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}

try {
  // Connections that are kept for a next call are not waited for.
  process.exit(await main());
} catch (error) {
  console.error(error);
  // Servers and loads that are still running end with this process.
  process.exit(exitCodes.failed);
}
