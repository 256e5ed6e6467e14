// `npm run soak:dashboard`: pages of the dashboard stay open for 30 minutes (`-- --minutes 3` for
// less) while 50 events a second arrive. Ends with 0 when the heap of no page has grown by 20 MB
// after a garbage collection and no document has grown, with 1 otherwise.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import type { Page } from 'playwright-core';
import { migrate } from '../../src/database/migrate.ts';
import { fillFixture, LONG_SESSION } from '../../test/browser/fixture/fixture-rows.ts';
import { elementsOf, heapBytesOf } from '../../test/browser/page-figures.ts';
import { startServiceProcess } from '../../test/servers/service-process.ts';
import { migrateQueue } from '../../workers/queue/migrate-queue.ts';
import { openBenchBrowser } from '../rig/bench-browser.ts';
import { openBenchPlace } from '../rig/bench-place.ts';
import { benchApiKey } from '../rig/bench-service.ts';

const paths = ['/', '/turns', `/sessions/${LONG_SESSION}`];
const eventsPerSecond = 50;
const heapBytesMax = 20_000_000;
/** The document may show a button more, and other words. */
const elementsMax = 50;
/** The first figures are taken when caches are filled and code is compiled. */
const warmUpS = 20;

/** Events of turns that exist, so that pages read again what they show of them. */
const eventsSql = `insert into holdfast.events (id, session_id, turn_id, type, data)
  select (pg_current_xact_id()::text::bigint << 16) + n, t.session_id, t.id, (array['turn.started', 'model.ended', 'tool.ended', 'turn.ended'])[1 + n % 4],
    json_build_object('kind', 'message', 'lane', 'main', 'agentId', 'main', 'status', 'completed', 'messageIds', json_build_array(), 'attempt', 1)
  from generate_series(1, ${eventsPerSecond}) as n, lateral (select id, session_id from holdfast.turns order by id desc offset n limit 1) as t`;

interface Figures {
  heapBytes: number;
  elements: number;
}

async function main(): Promise<number> {
  const minutes = readMinutes();
  const place = await openBenchPlace();
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-soak-'));
  const client = new pg.Client({ connectionString: place.databaseUrl, application_name: 'soak' });
  try {
    await migrate(place.databaseUrl);
    await migrateQueue(place.databaseUrl);
    await client.connect();
    await fillFixture((text, values) => client.query(text, values));
    const env = { DATABASE_URL: place.databaseUrl, HOLDFAST_DATA_DIR: dataDir, HOLDFAST_API_KEY: benchApiKey };
    const service = await startServiceProcess({ env, roles: 'api' });
    const browser = await openBenchBrowser({ url: service.url, apiKey: benchApiKey });
    try {
      const pages = await Promise.all(paths.map(async (path) => openAt(await browser.openPage(), path)));
      await send(client, warmUpS);
      const before = await Promise.all(pages.map(figuresOf));
      console.log(`${paths.length} pages, ${eventsPerSecond} events a second for ${minutes} minutes`);
      await send(client, minutes * 60);
      const after = await Promise.all(pages.map(figuresOf));
      return judge(before, after);
    } finally {
      await browser.close();
      await service.end('SIGTERM');
    }
  } finally {
    await client.end();
    await place.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function openAt(page: Page, path: string): Promise<Page> {
  await page.goto(path);
  await page.locator('main h1').first().waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  return page;
}

async function send(client: pg.Client, seconds: number): Promise<void> {
  const begin = performance.now();
  for (let second = 1; second <= seconds; second += 1) {
    await client.query(eventsSql);
    await delay(Math.max(0, begin + second * 1_000 - performance.now()));
  }
}

async function figuresOf(page: Page): Promise<Figures> {
  return { heapBytes: await heapBytesOf(page), elements: await elementsOf(page) };
}

function judge(before: readonly Figures[], after: readonly Figures[]): number {
  let missed = 0;
  for (const [at, path] of paths.entries()) {
    const [first, last] = [before[at], after[at]];
    if (first === undefined || last === undefined) throw new Error(`${path} was not measured`);
    const heapBytes = last.heapBytes - first.heapBytes;
    const elements = last.elements - first.elements;
    const isMet = heapBytes < heapBytesMax && elements <= elementsMax;
    if (!isMet) missed += 1;
    const mb = (bytes: number): string => (bytes / 1e6).toFixed(1);
    console.log(
      `${isMet ? 'pass' : 'MISS'}  ${path}: heap ${mb(first.heapBytes)} MB, grown by ${mb(heapBytes)} MB (at most ${mb(heapBytesMax)}); ` +
        `${first.elements} elements, grown by ${elements} (at most ${elementsMax})`,
    );
  }
  return missed === 0 ? 0 : 1;
}

function readMinutes(): number {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
  const minutes = Number(values.minutes);
  if (!(minutes >= 1 && minutes <= 1_440)) {
    throw new Error(`--minutes is "${values.minutes}"; expected a number from 1 to 1440.`);
  }
  return minutes;
}

process.exit(await main());
