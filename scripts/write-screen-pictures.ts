// `npm run write:screen-pictures`: a picture of every screen of the dashboard with the rows of a
// busy week, wide and narrow, light and dark, in `.holdfast/pictures`, which is not committed.
// `-- --only turns,waiting` makes some of them, `--looks wide-light` some of the looks. `npm run
// write:dashboard-picture` (`--docs`) writes docs/dashboard.png instead.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openBenchPlace } from '../bench/rig/bench-place.ts';
import { openBenchBrowser } from '../bench/rig/bench-browser.ts';
import { migrate } from '../src/database/migrate.ts';
import { startServiceProcess } from '../test/servers/service-process.ts';
import { migrateQueue } from '../workers/queue/migrate-queue.ts';
import { BUSY_CONFIG, fillBusyWeek, type BusyIds } from '../test/browser/fixture/busy-week.ts';

const FOLDER = resolve(import.meta.dirname, '../.holdfast/pictures');
const API_KEY = 'pictures-of-the-dashboard';
const DRAWN_MS = 300;
const LOOKS = ['wide-light', 'wide-dark', 'narrow-light', 'narrow-dark'];

const PATHS: Readonly<Record<string, string>> = {
  overview: '/',
  waiting: '/waiting',
  turns: '/turns',
  'turn-beside': '/turns?open={failedTurnId}',
  turn: '/turns/{turnId}',
  'turn-steps': '/turns/{turnId}?tab=steps',
  'turn-failed': '/turns/{failedTurnId}',
  sessions: '/sessions',
  'session-beside': '/sessions?open={sessionKey}',
  session: '/sessions/{sessionKey}',
  'session-failed': '/sessions/{failedSessionKey}',
  'session-waiting': '/sessions/{waitingSessionKey}',
  family: '/sessions/{familyKey}/family',
  approvals: '/approvals',
  approval: '/approvals?open={approvalId}',
  channels: '/channels',
  crons: '/crons',
  cron: '/crons/{cronId}',
  agents: '/agents',
  agent: '/agents/main',
  heartbeats: '/heartbeats',
  processes: '/processes',
  batches: '/batches',
  batch: '/batches/{batchId}',
  evaluations: '/evaluations',
  'data-sets': '/evaluations?tab=datasets',
  evaluation: '/evaluations/{evaluationId}',
  'evaluation-item': '/evaluations/{evaluationId}?open=3',
  costs: '/costs',
  'dead-letters': '/dead-letters',
  deliveries: '/deliveries',
  delivery: '/deliveries?open={deliveryId}',
  events: '/events',
  search: '/search?q=refund',
  settings: '/settings',
  'settings-alerts': '/settings?tab=alerts',
  'settings-changes': '/settings?tab=changes',
};

const { values } = parseArgs({
  options: { only: { type: 'string' }, looks: { type: 'string' }, docs: { type: 'boolean' } },
});
const isForDocs = values.docs === true;
const names = isForDocs ? ['waiting'] : (values.only?.split(',') ?? Object.keys(PATHS));
const looks = isForDocs ? ['wide-light'] : (values.looks?.split(',') ?? LOOKS);
const fileOf = (name: string, look: string): string =>
  isForDocs ? resolve(import.meta.dirname, '../docs/dashboard.png') : join(FOLDER, `${name}-${look}.png`);
// First: a service reads the files of the dashboard when it starts.
execFileSync(process.execPath, [resolve(import.meta.dirname, '../web/build.mjs'), '--if-needed'], { stdio: 'inherit' });
const place = await openBenchPlace();
const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-pictures-'));
const client = new pg.Client({ connectionString: place.databaseUrl });
try {
  await migrate(place.databaseUrl);
  await migrateQueue(place.databaseUrl);
  await client.connect();
  const ids = await fillBusyWeek((text, given) => client.query(text, given));
  const config = join(dataDir, 'holdfast.json');
  writeFileSync(config, JSON.stringify(BUSY_CONFIG));
  const env = {
    DATABASE_URL: place.databaseUrl,
    HOLDFAST_DATA_DIR: dataDir,
    HOLDFAST_CONFIG: config,
    HOLDFAST_API_KEY: API_KEY,
    ANTHROPIC_API_KEY: 'none',
  };
  // Without workers, what waits and runs stays as it is.
  const service = await startServiceProcess({ env, roles: 'api' });
  const browser = await openBenchBrowser({ url: service.url, apiKey: API_KEY });
  try {
    mkdirSync(FOLDER, { recursive: true });
    const page = await browser.openPage();
    for (const look of looks) {
      await page.setViewportSize(look.startsWith('wide') ? { width: 1440, height: 900 } : { width: 390, height: 844 });
      await page.emulateMedia({ colorScheme: look.endsWith('dark') ? 'dark' : 'light' });
      for (const name of names) {
        await page.goto(pathOf(name, ids));
        await page.locator('main h1').first().waitFor();
        await page.waitForLoadState('load');
        await page.locator('main').getByText('Loading…').filter({ visible: true }).first().waitFor({ state: 'hidden' });
        // For what is read after the first answer.
        await page.waitForTimeout(DRAWN_MS);
        await page.screenshot({ path: fileOf(name, look) });
      }
    }
  } finally {
    await browser.close();
    await service.end('SIGTERM');
  }
} finally {
  await client.end();
  await place.close();
  rmSync(dataDir, { recursive: true, force: true });
}

function pathOf(name: string, ids: BusyIds): string {
  const path = PATHS[name];
  if (path === undefined) throw new Error(`There is no picture "${name}"; expected ${Object.keys(PATHS).join(', ')}.`);
  return path.replace(/\{(\w+)\}/, (_, id: string) => encodeURIComponent(ids[id as keyof BusyIds]));
}
