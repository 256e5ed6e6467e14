// The build of the dashboard: small, and made only when a source has changed.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { useDashboard } from './dashboard-rig.ts';
import { ROUTES } from './fixture/screen-table.ts';

const dashboard = useDashboard();
const ROOT = resolve(import.meta.dirname, '../..');
const DIST = join(ROOT, 'web/dist');
const SCRIPT_BYTES_MAX = 170_000;
const STYLE_BYTES_MAX = 22_000;
const CHUNK_BYTES_MAX = 64_000;
const REQUESTS_MAX = 14;

const run = async (cwd: string) =>
  promisify(execFile)(process.execPath, [join(cwd, 'web/build.mjs'), '--if-needed'], { cwd });

test('the first load of each screen is at most 170 kB of compressed script, 22 kB of style and 14 requests', async () => {
  const { page, rig, signIn, url, requests, settle } = dashboard;
  // An installation with few sessions asks for more, to show what to do next.
  for (let n = 1; n <= 4; n += 1) await rig.turns.sessionOf(`session-${n}`);
  const sizeOf = (name: string): number => statSync(join(DIST, 'assets', `${name}.gz`)).size;
  await signIn();
  for (const path of ROUTES.filter((route) => !route.includes('$'))) {
    requests.length = 0;
    await page.goto(url + path);
    await page.locator('main h1').first().waitFor();
    await settle();
    const names = requests.map((request) => new URL(request.url).pathname.split('/').at(-1) ?? '');
    const bytesOf = (suffix: string): number =>
      names.filter((name) => name.endsWith(suffix)).reduce((sum, name) => sum + sizeOf(name), 0);
    expect(bytesOf('.js'), path).toBeLessThan(SCRIPT_BYTES_MAX);
    expect(bytesOf('.css')).toBeLessThan(STYLE_BYTES_MAX);
    expect(names.length, `${path} asked for ${names.join(', ')}`).toBeLessThanOrEqual(REQUESTS_MAX);
  }
  const lazy = readdirSync(join(DIST, 'assets')).filter((name) => name.endsWith('.js') && !name.startsWith('shared-'));
  for (const name of lazy) expect(sizeOf(name)).toBeLessThan(CHUNK_BYTES_MAX);
});

test('it is not made again while nothing has changed, and a build that fails does not fail the installation', async () => {
  const stamp = () => statSync(join(DIST, 'index.html')).mtimeMs;
  const before = stamp();
  expect((await run(ROOT)).stdout).toBe('');
  expect(stamp()).toBe(before);

  const folder = await mkdtemp(join(tmpdir(), 'holdfast-build-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(join(ROOT, 'web/build.mjs'), join(folder, 'web/build.mjs'));
  const { stdout } = await run(folder);
  expect(stdout).toContain('its build tools are not installed');
  expect(stdout).toContain('npm run build:web');
});

test('the page has nothing inline, so its policy needs no exception', () => {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8');
  expect(page).not.toMatch(/<style|<script(?![^>]*\ssrc=)|\son\w+=|style=/);
});
