// (crons) A thousand crons that are due in the same second, beside 64 sessions that run turns: how
// long after that second the last has fired, and how the turns of the sessions grow meanwhile. The
// turns of the crons have few slots, because what is measured is the firing, not what it begins.
import { askDatabase } from '../rig/ask-database.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { historyEntriesUsual, plainTurnText, turnText } from '../rig/prompts.ts';
import { median, quantile } from '../rig/statistics.ts';
import { until } from '../rig/until.ts';

export const cronBursts: BenchPart = { letter: 'crons', title: 'a thousand crons in one second', run };

const sessions = 64;
const crons = 1_000;
const turnsAtOnce = 'main=256,cron=4';
/** The turns of the sessions alone, before each burst. */
const aloneMs = 5_000;
const pollMs = 50;
const firedSecondsMax = 3;
const growthMax = 1.3;

interface Turn {
  beginMs: number;
  endMs: number;
}

async function run(context: BenchContext): Promise<BarLine[]> {
  const rounds = context.isQuick ? 2 : 5;
  const databaseUrl = await context.place.createDatabase('cron_bursts');
  return await withService(context, { env: { DATABASE_URL: databaseUrl }, turnsAtOnce }, async (service) => {
    await makeCrons(service, databaseUrl);
    const [alone, beside]: [number[], number[]] = [[], []];
    const seconds: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      context.say(`${crons} crons become due beside ${sessions} sessions, round ${round} of ${rounds}`);
      const load = await startTurns(service);
      try {
        // The first turns begin together.
        await until(pollMs, () => Promise.resolve(load.turns.length >= 2 * sessions));
        const calmFromMs = nowMs();
        await until(pollMs, () => Promise.resolve(nowMs() - calmFromMs >= aloneMs));
        const dueMs = await makeDue(databaseUrl);
        const lastMs = await untilFired(databaseUrl, dueMs);
        seconds.push((lastMs - dueMs) / 1000);
        // Those of the turns that the burst touched have ended now.
        const fromMs = nowMs();
        await until(pollMs, () => Promise.resolve(load.turns.some(({ beginMs }) => beginMs > fromMs)));
        alone.push(...load.within(calmFromMs, dueMs));
        beside.push(...load.touching(dueMs, lastMs));
      } finally {
        await load.stop();
      }
      // Without the load: beside it, the turns of the crons take minutes in their few slots.
      await untilQuiet(databaseUrl);
    }
    const of = (times: readonly number[]): string =>
      `p99 ${formatNumber(quantile(times, 0.99))} ms, median ${formatNumber(median(times))} ms, ${times.length} turns`;
    return [
      {
        part: 'crons',
        what: `from the second of ${crons} crons to the last fire, the longest of ${rounds}`,
        floor: '',
        holdfast: `median ${formatNumber(median(seconds))} s`,
        measured: Math.max(...seconds),
        unit: ' s',
        bar: firedSecondsMax,
        sense: 'atMost',
      },
      {
        part: 'crons',
        what: `p99 of the turns of ${sessions} sessions while crons fire, to that before`,
        floor: of(alone),
        holdfast: of(beside),
        measured: quantile(beside, 0.99) / quantile(alone, 0.99),
        unit: 'x',
        bar: growthMax,
        sense: 'atMost',
      },
    ];
  });
}

const nowMs = (): number => performance.timeOrigin + performance.now();

/** Makes one by the API, and the others like it. */
async function makeCrons(service: BenchService, databaseUrl: string): Promise<void> {
  await service.ask('POST', '/v1/crons', {
    name: 'burst-0',
    schedule: { kind: 'every', everyMs: 86_400_000 },
    payload: { kind: 'agentTurn', message: plainTurnText },
    misfire: 'run_once',
  });
  await askDatabase(
    databaseUrl,
    `insert into holdfast.crons select (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid(), 'name', 'burst-' || n))).*
     from holdfast.crons c, generate_series(1, ${crons - 1}) as n`,
  );
}

/** All become due at the second after the next; resolves with its time. */
async function makeDue(databaseUrl: string): Promise<number> {
  const [row] = await askDatabase<{ dueMs: number }>(
    databaseUrl,
    `with next as (select date_trunc('second', clock_timestamp()) + interval '2 seconds' as at),
     due as (update holdfast.crons set next_slot_at = next.at, due_at = next.at from next)
     select extract(epoch from at)::float8 * 1000 as "dueMs" from next`,
  );
  return row!.dueMs;
}

/** Resolves with the time of the last fire. */
async function untilFired(databaseUrl: string, dueMs: number): Promise<number> {
  const read = async () => {
    const [row] = await askDatabase<{ fired: number; lastMs: number }>(
      databaseUrl,
      `select count(*)::int as fired, extract(epoch from max(created_at))::float8 * 1000 as "lastMs" from holdfast.cron_fires
       where scheduled_for = to_timestamp(${dueMs / 1000}) and message_id is not null`,
    );
    return row!;
  };
  await until(pollMs, async () => (await read()).fired === crons);
  return (await read()).lastMs;
}

async function untilQuiet(databaseUrl: string): Promise<void> {
  await until(pollMs * 4, async () => {
    const [row] = await askDatabase<{ open: number }>(
      databaseUrl,
      `select count(*)::int as open from holdfast.inbox where kind = 'cron' and settled_at is null`,
    );
    return row!.open === 0;
  });
}

/** Keeps the sessions busy until it is stopped. */
async function startTurns(service: BenchService) {
  const keys = await service.seed(sessions, historyEntriesUsual);
  const turns: Turn[] = [];
  let isOver = false;
  const running = Promise.all(
    keys.map(async (key) => {
      while (!isOver) {
        const beginMs = nowMs();
        await service.send(key, turnText);
        turns.push({ beginMs, endMs: nowMs() });
      }
    }),
  );
  // Awaited by `stop`.
  running.catch(() => undefined);
  const timesOf = (isChosen: (turn: Turn) => boolean): number[] =>
    turns.filter((turn) => isChosen(turn)).map(({ beginMs, endMs }) => endMs - beginMs);
  return {
    turns,
    within: (fromMs: number, toMs: number) => timesOf(({ beginMs, endMs }) => beginMs >= fromMs && endMs <= toMs),
    touching: (fromMs: number, toMs: number) => timesOf(({ beginMs, endMs }) => beginMs <= toMs && endMs >= fromMs),
    async stop() {
      isOver = true;
      await running;
    },
  };
}
