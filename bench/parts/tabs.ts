// (r) What open tabs of the dashboard cost the turns: 20 clients that do what a tab with the
// overview does, each as a browser of its own, so that each has a stream of events. Clients instead
// of browsers, which would take the processor from the service. The load leaves the service room,
// as that of a service that someone watches does.
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type HoldfastClient } from '../../src/client/create-client.ts';
import { migrate } from '../../src/database/migrate.ts';
import { migrateQueue } from '../../workers/queue/migrate-queue.ts';
import { alternate } from '../rig/alternate.ts';
import { askDatabase } from '../rig/ask-database.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { benchApiKey } from '../rig/bench-service.ts';
import { describeLoads } from '../rig/closed-loop.ts';
import { slowTurnText, turnText } from '../rig/prompts.ts';
import { withProcess } from '../rig/with-process.ts';

export const tabs: BenchPart = { letter: 'r', title: 'turns while 20 tabs are open', run };

const tabCount = 20;
const sessions = 16;
const text = slowTurnText(200);
const bars = { p99: 1.1, queriesPerSecond: 2 };
/** As the page does. */
const refreshMs = 1_000;
const readinessMs = 4_000;
const workersMs = 5_000;
const warmUpS = 12;

async function run(context: BenchContext): Promise<BarLine[]> {
  const { rounds, turnsEach, quietS } = context.isQuick
    ? { rounds: 3, turnsEach: 20, quietS: 15 }
    : { rounds: 7, turnsEach: 60, quietS: 60 };
  const turnLine = await withService(context, {}, async (service) => {
    await service.run({ sessions, turnsEach: 30, text: turnText });
    context.say(`${rounds} rounds with and without tabs`);
    const { runsOf, ratioOf } = await alternate(
      rounds,
      [
        { name: 'alone', measure: () => service.run({ sessions, turnsEach, text }) },
        { name: 'watched', measure: () => withTabs(service.url, () => service.run({ sessions, turnsEach, text })) },
      ],
      ({ p99Ms }) => p99Ms,
    );
    const turns: BarLine = {
      part: 'r',
      what: `p99 of turns with ${tabCount} tabs, to p99 without`,
      floor: describeLoads(runsOf('alone')),
      holdfast: describeLoads(runsOf('watched')),
      measured: ratioOf('watched', 'alone'),
      unit: 'x',
      bar: bars.p99,
      sense: 'atMost',
    };
    return turns;
  });
  return [turnLine, ...(await measureQueries(context, quietS))];
}

/**
 * Queries of an API in a separate process, which only serves the tabs; an event per second keeps
 * them reloading.
 */
async function measureQueries(context: BenchContext, quietS: number): Promise<BarLine[]> {
  const databaseUrl = await context.place.createDatabase('holdfast_tabs');
  await migrate(databaseUrl);
  await migrateQueue(databaseUrl);
  return await withProcess({ databaseUrl, roles: 'api' }, async ({ url }) => {
    context.say(`${quietS} s each of an event a second without tabs, with one and with ${tabCount}`);
    const none = await queriesOf(url, databaseUrl, { count: 0, quietS });
    const one = await queriesOf(url, databaseUrl, { count: 1, quietS });
    const all = await queriesOf(url, databaseUrl, { count: tabCount, quietS });
    return [
      queryLine(`queries a second that ${tabCount} tabs add to those of one`, one, all),
      { ...queryLine('queries a second that the first tab adds', none, one), bar: null } as BarLine,
    ];
  });
}

function queryLine(what: string, before: number, after: number): BarLine {
  return {
    part: 'r',
    what,
    floor: `${formatNumber(before)}/s`,
    holdfast: `${formatNumber(after)}/s`,
    measured: after - before,
    unit: '/s',
    bar: bars.queriesPerSecond,
    sense: 'atMost',
  };
}

async function withTabs<Result>(url: string, work: () => Promise<Result>, count: number = tabCount): Promise<Result> {
  const stop = new AbortController();
  const opened = Array.from({ length: count }, () => openTab(url, stop.signal));
  await Promise.all(opened.map(({ isOpen }) => isOpen));
  try {
    return await work();
  } finally {
    stop.abort();
    await Promise.all(opened.map(({ ended }) => ended));
  }
}

/**
 * A tab with the overview: a stream of events, and the reads that follow them, at most once a
 * second.
 */
function openTab(url: string, signal: AbortSignal): { isOpen: Promise<void>; ended: Promise<void> } {
  const opened = Promise.withResolvers<void>();
  async function follow(): Promise<void> {
    const client = await signIn(url);
    const read = (...names: ('getStats' | 'getOverview' | 'getAttention' | 'listWorkers' | 'getReadiness')[]) =>
      Promise.all(names.map((name) => client[name]())).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    await read('getStats', 'getOverview', 'getAttention', 'listWorkers', 'getReadiness');
    const timers = [
      setInterval(() => void read('listWorkers'), workersMs),
      setInterval(() => void read('getReadiness'), readinessMs),
    ];
    let planned: NodeJS.Timeout | undefined;
    try {
      for await (const _event of client.events({ signal, onOpen: () => opened.resolve() })) {
        planned ??= setTimeout(() => {
          planned = undefined;
          void read('getStats', 'getOverview', 'getAttention', 'listWorkers');
        }, refreshMs);
      }
    } finally {
      clearTimeout(planned);
      for (const timer of timers) clearInterval(timer);
    }
  }
  const ended = follow();
  ended.catch(opened.reject);
  return { isOpen: opened.promise, ended };
}

/** A client with the cookie of a browser. */
async function signIn(url: string): Promise<HoldfastClient> {
  const answer = await fetch(`${url}/v1/auth/sessions`, {
    method: 'POST',
    body: JSON.stringify({ key: benchApiKey }),
    headers: { 'content-type': 'application/json' },
  });
  const cookie = answer.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  return createClient({
    url,
    retriesMax: 0,
    fetch: (input, init) => {
      const headers = new Headers(init?.headers);
      headers.set('cookie', cookie);
      return fetch(input, { ...init, headers });
    },
  });
}

/** Transactions a second in the database of an API; each query is one. */
async function queriesOf(
  url: string,
  databaseUrl: string,
  { count, quietS }: { count: number; quietS: number },
): Promise<number> {
  return withTabs(
    url,
    async () => {
      // The queries of the sign-ins are in the statistics of the database before the first reading.
      await writeEvents(databaseUrl, warmUpS);
      const before = await transactionsOf(databaseUrl);
      const begin = performance.now();
      await writeEvents(databaseUrl, quietS);
      const after = await transactionsOf(databaseUrl);
      return (after - before) / ((performance.now() - begin) / 1_000);
    },
    count,
  );
}

/** One a second. */
async function writeEvents(databaseUrl: string, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await askDatabase(
      databaseUrl,
      `insert into holdfast.events (id, type, data) values ((pg_current_xact_id()::text::bigint << 16), 'budget.warned', '{}')`,
    );
    await delay(1_000);
  }
}

async function transactionsOf(databaseUrl: string): Promise<number> {
  const url = new URL(databaseUrl);
  const [row] = await askDatabase<{ n: number }>(
    databaseUrl,
    `select (xact_commit + xact_rollback)::float8 as n from pg_stat_database where datname = '${url.pathname.slice(1)}'`,
  );
  return row?.n ?? 0;
}
