// Signing in and out, and the view of a viewer.
import { expect, test } from 'vitest';
import { ADMIN_KEY } from '../api/api-rig.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';

const dashboard = useDashboard();

test('a user signs in with a key and gets to the requested screen; the key is in no address and no storage', async () => {
  const { page, url, requests } = dashboard;
  await page.goto(`${url}/turns?status=failed`);
  await page.getByLabel('API key').fill('a wrong key');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The API key is not valid').waitFor();
  await page.getByLabel('API key').fill(ADMIN_KEY);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Turns' }).waitFor();
  expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe('/turns?status=failed');
  const stored = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
  );
  expect(stored).not.toContain(ADMIN_KEY);
  const sent = requests.filter(({ body }) => body?.includes(ADMIN_KEY));
  expect(sent.map(({ method, url: to }) => `${method} ${new URL(to).pathname}`)).toEqual(['POST /v1/auth/sessions']);
});

test('an address with a code signs in once, and the code leaves the address', async () => {
  const { page, url, rig, context } = dashboard;
  const { code } = (await rig.post('/v1/auth/codes')).body;
  await page.goto(`${url}/sessions#code=${code}`);
  await page.getByRole('heading', { name: 'Sessions' }).waitFor();
  expect(page.url()).toBe(`${url}/sessions`);
  await context.clearCookies();
  await page.goto(`${url}/sessions#code=${code}`);
  await page.getByLabel('API key').waitFor();
});

test('a person signs out, and the next screen asks for a key', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open('/');
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  await page.goto(`${dashboard.url}/turns`);
  await page.getByLabel('API key').waitFor();
});

test('a viewer sees everything and has no button that changes anything', async () => {
  const { page, signIn, open, rig } = dashboard;
  await rig.post('/v1/sessions/seen/messages', { text: '[[error: 400 message="no"]]' });
  await rig.work('seen');
  const { items } = (await rig.get('/v1/turns?session=seen')).body;
  await signIn(VIEWER_KEY);
  const changing = /retry|abort|redrive|discard|cancel|compact|reset|send|revoke|make a key/i;
  for (const path of [
    '/turns',
    `/turns/${items[0].id}`,
    '/sessions/agent:main:seen',
    '/waiting',
    '/dead-letters',
    '/settings',
  ]) {
    await open(path);
    await page.getByRole('status').first().waitFor();
    expect(await page.getByRole('button', { name: changing }).allTextContents()).toEqual([]);
  }
});

test('a tab that asks for a key leaves that to another tab, unless a key was begun', async () => {
  const { page, url, context } = dashboard;
  const writing = await context.newPage();
  for (const tab of [page, writing]) await tab.goto(`${url}/turns?status=failed`);
  await writing.getByLabel('API key').fill('half a k');
  const other = await context.newPage();
  await other.goto(`${url}/`);
  await other.getByLabel('API key').fill(ADMIN_KEY);
  await other.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Turns' }).waitFor();
  expect(new URL(page.url()).search).toBe('?status=failed');
  expect(await writing.getByLabel('API key').inputValue()).toBe('half a k');
});
