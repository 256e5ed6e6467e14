// Live updates: one stream for all tabs of a browser, which resumes after the last event; Pause
// stops it.
import type { BrowserContext, Page, Request } from 'playwright-core';
import { expect, test } from 'vitest';
import { ADMIN_KEY } from '../api/api-rig.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';

const dashboard = useDashboard();
const STREAM = '**/v1/events?*';

/** The streams of events that the tabs of a browser have requested so far. */
function streamsOf(context: BrowserContext): Request[] {
  const streams: Request[] = [];
  context.on('request', (request) => {
    if (new URL(request.url()).pathname === '/v1/events') streams.push(request);
  });
  return streams;
}

/** The event after which a stream resumes. */
function resumesAfter(stream: Request | undefined): string | null {
  if (stream === undefined) return null;
  return stream.headers()['last-event-id'] ?? null;
}

async function isLive(page: Page): Promise<void> {
  await page.getByText('Live', { exact: true }).waitFor();
}

async function answer(session: string, text: string): Promise<void> {
  const { rig } = dashboard;
  await rig.post(`/v1/sessions/${session}/messages`, { text: `[[reply: ${text}]]` });
  await rig.work(session);
}

test('two tabs share one stream, and the second continues after the last event when the first is closed', async () => {
  const { page, context, url, signIn, open } = dashboard;
  const streams = streamsOf(context);
  await signIn();
  await open('/turns');
  await isLive(page);

  const second = await context.newPage();
  await second.goto(`${url}/turns`);
  await isLive(second);
  await answer('shared', 'one');
  for (const tab of [page, second]) await tab.getByRole('button', { name: '1 new' }).waitFor();
  expect(streams).toHaveLength(1);

  await page.close();
  await expect.poll(() => streams.length).toBe(2);
  expect(resumesAfter(streams[1])).toMatch(/^\d+$/);
  await isLive(second);
  await answer('shared', 'two');
  await second.getByRole('button', { name: '2 new' }).waitFor();
});

test('a page whose connection breaks resumes after its last event, and shows each missed event once', async () => {
  const { page, context, rig, signIn, open } = dashboard;
  await answer('cut', 'before');
  await signIn();
  await open('/sessions/agent:main:cut');
  await isLive(page);
  await answer('cut', 'while live');
  await page.getByRole('article').getByText('while live', { exact: true }).waitFor();

  const streams = streamsOf(context);
  await context.route(STREAM, (route) => route.abort('connectionrefused'));
  rig.app.server.closeAllConnections();
  await page.getByText('Reconnecting', { exact: true }).waitFor();
  await answer('cut', 'while away');
  await context.unroute(STREAM);
  await isLive(page);
  await page.getByRole('article').getByText('while away', { exact: true }).waitFor();
  expect(await page.getByText('while away', { exact: true }).count()).toBe(1);
  expect(resumesAfter(streams.at(-1))).toMatch(/^\d+$/);
});

test('a paused page requests nothing, and shows the changes when it is live again', async () => {
  const { page, requests, signIn, open, settle } = dashboard;
  await answer('paused', 'before');
  await signIn();
  await open('/sessions/agent:main:paused');
  await isLive(page);
  const stopped = page.waitForEvent('requestfailed', (request) => new URL(request.url()).pathname === '/v1/events');
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Paused', { exact: true }).waitFor();
  await stopped;
  await settle();
  requests.length = 0;
  await answer('paused', 'unseen');
  expect(requests).toEqual([]);
  await page.getByRole('button', { name: 'Go live' }).click();
  await page.getByRole('article').getByText('unseen', { exact: true }).waitFor();
});

/**
 * Ends the sign-in of a browser at the service: its cookie is no longer valid, and its streams
 * break.
 */
async function endSignIn(context: BrowserContext): Promise<void> {
  await context.clearCookies();
  dashboard.rig.app.server.closeAllConnections();
}

/** Signs in with a key on a separate page, which is then closed. */
async function signInElsewhere(key: string): Promise<void> {
  const { context, url } = dashboard;
  const other = await context.newPage();
  await other.goto(`${url}/sign-in`);
  await other.getByLabel('API key').fill(key);
  await other.getByRole('button', { name: 'Sign in' }).click();
  await other.getByRole('heading', { name: 'Overview' }).waitFor();
  await other.close();
}

test('a tab whose stream was refused continues when another tab signs in, also after that one is closed', async () => {
  const { page, context, url, signIn, open } = dashboard;
  await answer('resumed', 'before');
  await signIn();
  const leader = await context.newPage();
  await leader.goto(`${url}/turns`);
  await isLive(leader);
  await open('/turns');
  await isLive(page);
  await endSignIn(context);
  const banner = page.getByText('This browser is signed out.');
  await banner.waitFor();
  const refused = page.waitForResponse(
    (response) => new URL(response.url()).pathname === '/v1/events' && response.status() === 401,
  );
  await leader.close();
  await refused;
  await page.getByRole('link', { name: 'Sessions', exact: true }).click();
  await page.locator('main').getByRole('alert').waitFor();

  await signInElsewhere(ADMIN_KEY);
  await page.getByRole('row').getByText('resumed').first().waitFor();
  await isLive(page);
  expect(await banner.count()).toBe(0);
  await answer('begun-later', 'after');
  await page.getByRole('row').getByText('begun-later').first().waitFor();
});

test('a tab has the role with which another tab has signed in', async () => {
  const { page, context, rig, signIn, open } = dashboard;
  await rig.turns.sessionOf('roles');
  await signIn();
  await open('/sessions/agent:main:roles');
  await isLive(page);
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await endSignIn(context);
  await page.getByText('This browser is signed out.').waitFor();
  await signInElsewhere(VIEWER_KEY);
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByText('viewer', { exact: true }).waitFor();
  expect(await page.getByRole('button', { name: 'Send' }).count()).toBe(0);
});
