// `npm run soak`: a mixed load on real processes for 30 minutes (`-- --minutes 3` for less), while
// the model, PostgreSQL and Redis are each taken away twice, for 60 seconds each time (for less in
// a shorter run). Then everything is counted: nothing failed, nothing lost, nothing doubled, and
// each process told each outage in less than 50 lines. Ends with 0 only then, with 1 when a check
// fails, with 2 when the soak itself breaks.
import { parseArgs } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { formatChecks, type Check } from './checks.ts';
import { judgeCrons, judgeDeliveries, judgeEnds, judgeMessages, judgeSubagents } from './judge.ts';
import { judgeLogs } from './judge-logs.ts';
import { startLoad, type SoakLoad } from './load.ts';
import { playOutages, planOutages, type Outage } from './outages.ts';
import { Progress } from './progress.ts';
import { openStage, type Stage } from './stage.ts';

const exitCodes = { met: 0, missed: 1, failed: 2 };
/** How long everything may take to come to its end after the load has stopped. */
const quietWithinMs = 900_000;
const pollMs = 500;

async function main(): Promise<number> {
  const minutes = readMinutes();
  const outages = planOutages(minutes * 60_000);
  say(
    `Load for ${minutes * 60} s. For ${(outages[0]?.ms ?? 0) / 1000} s each are taken away: ${outages.map(({ name }) => name).join(', ')}.`,
  );
  const stage = await openStage();
  closeOnSignal(stage);
  const progress = new Progress(stage, outages);
  try {
    const load = await startLoad(stage);
    progress.start();
    await Promise.all([playOutages(stage, outages), delay(minutes * 60_000)]);
    await load.stop();
    say('The load has ended; waiting until everything is settled.');
    const isQuiet = await untilQuiet(stage);
    progress.stop();
    const checks = [...(await judge(stage, load, outages)), isQuiet];
    console.log(`\n${formatChecks(checks)}\n`);
    return checks.every(({ faults }) => faults.length === 0) ? exitCodes.met : exitCodes.missed;
  } finally {
    progress.stop();
    await stage.close();
  }
}

async function judge(stage: Stage, load: SoakLoad, outages: readonly Outage[]): Promise<Check[]> {
  return [
    await judgeEnds(stage),
    ...(await judgeMessages(stage, load.sent)),
    ...(await judgeDeliveries(stage)),
    ...(await judgeSubagents(stage)),
    await judgeCrons(stage, load.crons),
    ...judgeLogs(stage, outages),
  ];
}

/** Waits until no message, turn, subagent or delivery is in flight. */
async function untilQuiet(stage: Stage): Promise<Check> {
  const deadline = performance.now() + quietWithinMs;
  let busy: { what: string; n: number }[];
  do {
    await delay(pollMs);
    busy = await stage.rows(
      `select 'messages ' || status as what, count(*)::int as n from holdfast.inbox where settled_at is null group by status
       union all select 'open turns', count(*)::int from holdfast.turns where ended_at is null having count(*) > 0
       union all select 'running subagents', count(*)::int from holdfast.subagent_runs where status = 'running' having count(*) > 0
       union all select 'deliveries ' || status, count(*)::int from holdfast.deliveries
         where status in ('pending', 'sending') group by status`,
    );
  } while (busy.length > 0 && performance.now() < deadline);
  return { what: 'everything comes to its end', count: busy.length, faults: busy.map(({ what, n }) => `${n} ${what}`) };
}

function readMinutes(): number {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
  const minutes = Number(values.minutes);
  if (!(minutes >= 1 && minutes <= 1_440)) {
    throw new Error(`--minutes is "${values.minutes}"; expected a number from 1 to 1440.`);
  }
  return minutes;
}

function closeOnSignal(stage: Stage): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stage.close().finally(() => process.exit(exitCodes.failed)));
  }
}

function say(text: string): void {
  console.log(text);
}

try {
  process.exit(await main());
} catch (error) {
  console.error(error);
  process.exit(exitCodes.failed);
}
