// Setting an installation up from the dashboard: the first steps of an empty one, and where alerts
// are sent.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { useDashboard } from './dashboard-rig.ts';
import { watchFigures } from './page-figures.ts';

const dashboard = useDashboard();
const SHIFT_MAX = 0.05;

test('an empty installation shows what to do next, sends a first message, and ticks what is done until it is hidden', async () => {
  const { page, rig, signIn, open } = dashboard;
  await signIn();
  const figures = await watchFigures(page);
  await open('/');
  const steps = page.getByRole('region', { name: 'First steps' });
  const step = (name: string) => steps.getByRole('listitem').filter({ hasText: name });
  await steps.getByText('5 are left').waitFor();
  expect(await figures.layoutShift()).toBeLessThan(SHIFT_MAX);
  await step('Set the key').getByText('export ANTHROPIC_API_KEY').waitFor();
  await step('Define an agent').getByRole('button', { name: 'Copy the settings' }).waitFor();
  await step('Add a cron').getByRole('link', { name: 'Add a cron' }).click();
  await page.getByRole('dialog').waitFor();

  await open('/');
  await steps.getByRole('textbox', { name: 'Message' }).fill('The first words');
  await steps.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(/\/sessions\/agent/);
  await rig.work('main');
  await page.getByText('The first words').first().waitFor();
  const { items } = (await rig.get('/v1/messages')).body;
  expect(items.map(({ text }: { text: string }) => text)).toEqual(['The first words']);

  await open('/');
  await step('Send a message').getByText('done').waitFor();
  await steps.getByRole('button', { name: 'Hide the first steps' }).click();
  await steps.waitFor({ state: 'detached' });
  await open('/');
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  expect(await steps.count()).toBe(0);
});

test('an alert destination is added, tested with the answer shown, and removed; the audit log says so in sentences', async () => {
  const { page, signIn, open } = dashboard;
  let status = 204;
  const received: string[] = [];
  const receiver = createServer((request, response) => {
    received.push(String(request.headers['webhook-id']));
    request.resume();
    response.writeHead(status).end('no such channel');
  });
  onTestFinished(() => void receiver.close());
  const { promise, resolve } = Promise.withResolvers<void>();
  receiver.listen(0, '127.0.0.1', resolve);
  await promise;

  await signIn();
  await open('/settings?tab=alerts');
  await page.getByLabel('Name').fill('ops');
  await page.getByLabel('URL of the webhook').fill(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/x`);
  await page.getByRole('button', { name: 'Add a destination' }).click();
  await page.getByText(/whsec_/).waitFor();
  const test = page.getByRole('button', { name: 'Send a test to ops' });
  await test.click();
  await page.getByText('The destination has acknowledged the test (HTTP 204).').waitFor();
  status = 404;
  await test.click();
  await page.getByText('The destination has not acknowledged the test: HTTP 404: no such channel').waitFor();
  await page.getByText('fails', { exact: true }).waitFor();
  expect(new Set(received).size).toBe(2);

  await open('/settings?tab=changes');
  await page
    .getByText(/admin tested the alert destination ‘ops’/)
    .first()
    .waitFor();
  await open('/settings?tab=alerts');
  await page.getByRole('button', { name: 'Remove… ops' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('There is no destination yet').waitFor();
});
