// Goal: a person with a key for a part of the service sees that part and is not led elsewhere (G44).
// Method: two customers' sessions, and a browser that has signed in with a key for one of them.
import { expect, test } from 'vitest';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();

test('a key for some sessions is made in the settings, and signs in to those sessions alone', async () => {
  const { page, signIn, open, settle, rig } = dashboard;
  for (const key of ['shop:1', 'office:1']) {
    await rig.post(`/v1/sessions/${key}/messages`, { text: `the words of ${key}` });
    await rig.work(key);
  }
  await signIn();
  await open('/settings');
  await page.getByLabel('Name', { exact: true }).fill('shop');
  await page.getByLabel('Only sessions').fill('agent:main:shop:*');
  await page.getByRole('button', { name: 'Create a key' }).click();
  const key = await page.getByRole('status').locator('code').textContent();
  await page.getByRole('cell', { name: 'agent:main:shop:*' }).waitFor();
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();

  await signIn(key ?? '');
  await open('/');
  await page.getByRole('heading', { name: 'Sessions' }).waitFor();
  await page.getByText('the words of shop:1').first().waitFor();
  expect(await page.getByText('office').count()).toBe(0);
  const screens = await page.getByRole('navigation', { name: 'Screens' }).getByRole('link').allTextContents();
  expect(screens).toEqual([
    'Sessions',
    'Turns',
    'Waiting',
    'Approvals',
    'Dead letters',
    'Deliveries',
    'Events',
    'Search',
    'Agents',
    'Batches',
  ]);
  const refused: string[] = [];
  page.on('response', (answer) => {
    if (answer.status() === 403) refused.push(answer.url());
  });
  const own = ['/turns', '/waiting', '/approvals', '/dead-letters', '/deliveries', '/events', '/agents', '/batches'];
  for (const path of [...own, '/sessions', '/sessions/agent:main:shop:1']) {
    await open(path);
    await settle();
    expect(await page.getByRole('alert').allTextContents()).toEqual([]);
  }
  // By a bookmark: a screen that the key is not for says so, and asks for nothing.
  for (const path of ['/costs', '/crons', '/heartbeats', '/channels', '/processes', '/settings']) {
    await open(path);
    await page.getByText('Your key is for a part of the service').waitFor();
    await settle();
  }
  expect(refused).toEqual([]);
  await open('/sessions/agent:main:office:1');
  await page.getByText('There is no session agent:main:office:1').waitFor();
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByText('Sees agent:main:shop:*').waitFor();
});
