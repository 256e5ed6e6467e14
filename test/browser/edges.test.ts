// A page whose data is missing: a file of an older build, a row, a screen. And keys of sessions
// that need encoding.
import { expect, test } from 'vitest';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();

test('a tab whose build was replaced offers to reload, does not reload by itself, and keeps the draft of a message', async () => {
  const { page, rig, requests, signIn, open } = dashboard;
  await rig.post('/v1/sessions/upgraded/messages', { text: '[[reply: hello]]' });
  await rig.work('upgraded');
  await signIn();
  await open('/sessions/agent:main:upgraded');
  const message = page.getByLabel('Message', { exact: true });
  await message.fill('half a sentence');
  await page.route('**/assets/settings-*.js', (route) => route.fulfill({ status: 404 }));
  requests.length = 0;
  const rail = page.getByRole('navigation', { name: 'Screens' });
  await rail.getByRole('link', { name: 'Settings' }).click();
  await page.getByText('The dashboard has a new version').waitFor();
  expect(requests.filter(({ url }) => new URL(url).pathname === '/settings')).toEqual([]);

  await page.unroute('**/assets/settings-*.js');
  await page.getByRole('button', { name: 'Reload the page' }).click();
  await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
  await open('/sessions/agent:main:upgraded');
  expect(await message.inputValue()).toBe('half a sentence');
});

test('an unknown turn, an unknown session and an unknown screen each say so', async () => {
  const { page, url, signIn } = dashboard;
  await signIn();
  for (const path of ['/turns/01890000-0000-7000-8000-000000000000', '/sessions/agent:main:unknown']) {
    await page.goto(url + path);
    await page.getByRole('alert').getByText('Not found', { exact: true }).waitFor();
  }
  await page.goto(`${url}/turns/a/b/c`);
  await page.getByText('There is no such screen').waitFor();
});

test('a session whose key needs encoding is opened from the list', async () => {
  const { page, rig, signIn, open } = dashboard;
  const name = 'crm:a@b+c';
  await rig.post(`/v1/sessions/${encodeURIComponent(name)}/messages`, { text: '[[reply: found]]' });
  const key = (await rig.get('/v1/sessions')).body.items.find((item: { key: string }) => item.key.endsWith(name))?.key;
  expect(key).toBeDefined();
  await rig.work(name);
  await signIn();
  await open('/sessions');
  await page.getByRole('link', { name: key, exact: true }).click();
  await page.getByRole('article').getByText('found', { exact: true }).waitFor();
});
