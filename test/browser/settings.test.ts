// The settings screen: the service's settings with their sources, its environment, and the prices.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { LiveConfig, loadConfigWithSources } from '../../src/config.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';

const cwd = mkdtempSync(join(tmpdir(), 'holdfast-settings-'));
afterAll(() => rmSync(cwd, { recursive: true }));
const file = join(cwd, 'holdfast.json');
writeFileSync(file, '{\n  lanes: { main: 9 },\n  workspace: { path: "<img src=x onerror=alert(1)>" },\n}');
const live = new LiveConfig(() => loadConfigWithSources({ env: { HOLDFAST_API_KEY: 'canary-of-the-admin-01' }, cwd }));

const dashboard = useDashboard({ context: { live } });

test('a setting is found by its path, with its value and the line of the file that decides it', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open('/settings');
  await page.getByRole('link', { name: 'Configuration' }).click();
  await page.getByLabel('Path contains').fill('LANES.');
  await page.keyboard.press('Enter');
  const row = page.getByRole('row', { name: 'lanes.main' });
  await row.getByText('after a restart').waitFor();
  expect(await row.innerText()).toMatch(/\b9\b/);
  await row.getByText(`${file}:2`).waitFor();
  await page.getByText(/^4 of \d+ settings$/).waitFor();
  await page.getByRole('combobox', { name: 'Only' }).selectOption('changed');
  await page.getByText(/^1 of \d+ settings$/).waitFor();
  const { search } = new URL(page.url());
  expect(search).toBe('?tab=configuration&q=LANES.&only=changed');
  await open(`/settings${search}`);
  await row.getByText(`${file}:2`).waitFor();
});

test('a secret is a fingerprint, and a value from the file is text', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open('/settings?tab=configuration&only=changed');
  const row = page.getByRole('row', { name: 'runtime.apiKey' });
  await row.getByText(/^set \([0-9a-f]{8}\)$/).waitFor();
  await row.getByText('HOLDFAST_API_KEY').waitFor();
  await page.getByText('<img src=x onerror=alert(1)>').waitFor();
  expect(await page.locator('main').innerText()).not.toContain('canary');
  expect(await page.locator('main img').count()).toBe(0);
});

test('versions and prices are those that the API answers', async () => {
  const { page, signIn, open, rig } = dashboard;
  await signIn();
  await open('/settings?tab=versions');
  const { versions } = (await rig.get('/v1/config')).body;
  for (const name of ['node', 'postgres', 'layout']) await page.getByText(versions[name]).waitFor();
  await page.getByText('the scripted model;').waitFor();
  await page.getByRole('link', { name: 'Price table' }).click();
  const { version, rows } = (await rig.get('/v1/prices')).body;
  await page.getByText(version).waitFor();
  expect(await page.getByRole('row').count()).toBe(rows.length + 1);
  await page.getByText(rows[0].checkedAt).first().waitFor();
});

test('a viewer sees the prices, and that the rest is for admins', async () => {
  const { page, signIn, open, requests } = dashboard;
  await signIn(VIEWER_KEY);
  await open('/settings?tab=configuration');
  await page.getByText('Configuration is for admins. You are signed in as viewer.').waitFor();
  await open('/settings?tab=prices');
  await page.getByRole('heading', { name: 'Price table' }).waitFor();
  expect(requests.filter(({ url }) => url.includes('/v1/config'))).toEqual([]);
});
