// Batches in the browser: made from a file, watched, controlled, and their failed items run again.
// What a page does is checked in the API.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { batchRig } from '../features/batches/batch-rig.ts';
import { violationsOn } from './axe.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';
import { handOf } from './hand.ts';
import { looks } from './looks.ts';

const dashboard = useDashboard();

const line = (text: string, customId: string): string => JSON.stringify({ text, customId });
const LINES = [
  line('[[reply: first]]', 'a'),
  line('[[error: 400 message="the provider says no"]]', 'b'),
  line('[[reply: third]]', 'c'),
];

const fileOf = (name: string, lines: readonly string[]) => ({
  name,
  mimeType: 'application/x-ndjson',
  buffer: Buffer.from(lines.join('\n')),
});

/** A batch of three items that nothing has fed yet. */
async function submitted(name: string): Promise<string> {
  const answer = await batchRig(dashboard.rig).submitLines(LINES.join('\n'), `?name=${name}`);
  return answer.body.id;
}

const shown = async (id: string) => (await dashboard.rig.get(`/v1/batches/${id}`)).body;

test('a file is checked by line and priced before it becomes a batch, which is then watched to its end', async () => {
  const { page, signIn, open, rig } = dashboard;
  const before = (await rig.get('/v1/batches')).body.items.length;
  await signIn();
  await open('/batches');
  await page.getByRole('button', { name: 'New batch' }).click();
  const dialog = page.getByRole('dialog', { name: 'New batch' });
  await dialog.getByLabel('File').setInputFiles(fileOf('bad.jsonl', [LINES[0]!, '{"text": 7}']));
  await dialog.getByText('line 2: text').waitFor();
  expect(await dialog.getByRole('button', { name: 'Submit' }).isDisabled()).toBe(true);
  await dialog.getByLabel('File').setInputFiles(fileOf('tickets.jsonl', LINES));
  await dialog.getByText('Estimate: 3 items').waitFor();
  expect((await rig.get('/v1/batches')).body.items.length).toBe(before);
  await dialog.getByLabel('Way').selectOption('live');
  await dialog.getByLabel('Cost cap').fill('1.5');
  await dialog.getByRole('button', { name: 'Submit 3 items' }).click();
  await page.getByRole('heading', { name: 'bad' }).waitFor();
  const id = new URL(page.url()).pathname.split('/').at(-1)!;
  expect(await shown(id)).toMatchObject({ via: 'live', maxCostUsd: 1.5, counts: { total: 3, pending: 3 } });
  await batchRig(rig).run(id);
  await page.getByText('partly', { exact: true }).waitFor();
  await page.getByText('the provider says no').first().waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download results' }).click(),
  ]);
  const results = readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\n');
  expect(results.map((result) => JSON.parse(result).status)).toEqual(['answered', 'failed', 'answered']);
});

test('a batch is paused, resumed and changed, and its failed items run again', async () => {
  const { page, signIn, open, rig } = dashboard;
  const id = await submitted('controlled');
  await signIn();
  await open(`/batches/${id}`);
  await page.getByRole('button', { name: 'Pause batch' }).click();
  await page.getByText('manual').waitFor();
  expect(await shown(id)).toMatchObject({ status: 'paused', pauseReason: 'manual' });
  await page.getByRole('button', { name: 'Change' }).click();
  await page.getByLabel('Cost cap').fill('2.25');
  await page.getByLabel('Items in flight').fill('7');
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await expect.poll(() => shown(id)).toMatchObject({ maxCostUsd: 2.25, concurrency: 7 });
  await page.getByRole('button', { name: 'Resume batch' }).click();
  await expect.poll(() => shown(id)).toMatchObject({ status: 'running' });
  await batchRig(rig).run(id);
  await page.getByRole('button', { name: 'Retry these' }).click();
  await page.getByRole('heading', { name: 'Run 1 items again?' }).waitFor();
  await page.getByRole('button', { name: 'Run 1 again' }).click();
  await expect.poll(() => shown(id)).toMatchObject({ status: 'running', counts: { failed: 0, answered: 2 } });
  await batchRig(rig).run(id);
  const { items } = (await rig.get(`/v1/batches/${id}/items?status=failed`)).body;
  expect(items).toMatchObject([{ n: 2, attempt: 2 }]);
});

test('a batch is cancelled by keyboard alone, after the page has said how many items have not begun', async () => {
  const { page, signIn, open, rig } = dashboard;
  const id = await submitted('dropped');
  await signIn();
  await open('/batches');
  await page.locator('[role=row][tabindex="0"]').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'dropped' }).waitFor();
  await handOf('keyboard', page).press('Cancel…');
  await page.getByRole('heading', { name: 'Cancel 3 items that have not begun?' }).waitFor();
  await page.getByRole('button', { name: 'Cancel', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await batchRig(rig).run(id);
  expect(await shown(id)).toMatchObject({ status: 'ended', outcome: 'cancelled', counts: { cancelled: 3 } });
});

test('the items of a batch are filtered in the URL, and Back restores the filter', async () => {
  const { page, signIn, open, rig } = dashboard;
  const id = await submitted('filtered');
  await batchRig(rig).run(id);
  await signIn();
  await open(`/batches/${id}`);
  const items = page.getByRole('table', { name: 'Items', exact: true });
  await page.getByRole('combobox', { name: 'Status' }).selectOption('failed');
  await expect.poll(() => items.getByRole('row').count()).toBe(2);
  expect(new URL(page.url()).search).toBe('?status=failed');
  await items.getByRole('link', { name: /^turn/ }).click();
  await page.getByRole('tab', { name: 'Request' }).waitFor();
  await page.goBack();
  await expect.poll(() => items.getByRole('row').count()).toBe(2);
});

test('a viewer sees a batch and its results, and nothing that changes it', async () => {
  const { page, signIn, open } = dashboard;
  const id = await submitted('read-only');
  await signIn(VIEWER_KEY);
  await open('/batches');
  expect(await page.locator('main').getByRole('button').count()).toBe(0);
  await open(`/batches/${id}`);
  await page.getByRole('table', { name: 'Items', exact: true }).waitFor();
  expect(await page.locator('main').getByRole('button').allTextContents()).toEqual(['Refresh', 'Columns']);
  await page.getByRole('link', { name: 'Download results' }).waitFor();
});

describe.each(looks)('the form of a new batch $name', ({ colorScheme, forcedColors, width }) => {
  test('has no violation that axe finds', async () => {
    const { page, signIn, open } = dashboard;
    await signIn();
    await page.emulateMedia({ colorScheme, forcedColors });
    await page.setViewportSize({ width, height: 720 });
    await open('/batches');
    await page.getByRole('button', { name: 'New batch' }).click();
    const dialog = page.getByRole('dialog', { name: 'New batch' });
    await dialog.getByLabel('File').setInputFiles(fileOf('tickets.jsonl', LINES));
    await dialog.getByText('Estimate: 3 items').waitFor();
    expect(await violationsOn(page)).toEqual([]);
  });
});
