// The list of sessions: who holds each lock, how full each context is, and the actions in its rows.
import { expect, test } from 'vitest';
import { loadConfigWithSources } from '../../src/config.ts';
import { changeSessions } from '../rows/sessions.ts';
import { ahead } from '../rows/table.ts';
import { changeTurns, openTurnElsewhere } from '../rows/turns.ts';
import { violationsOn } from './axe.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';
import { handOf } from './hand.ts';
import { overflowOf } from './page-figures.ts';

const { messages } = loadConfigWithSources({ env: {}, cwd: '/nowhere', isTty: false }).config;
const dashboard = useDashboard({ changes: () => ({ messages: { queue: { ...messages.queue, mode: 'followup' } } }) });
const rowOf = (key: string) => dashboard.page.getByRole('row').filter({ has: dashboard.page.getByText(key) });

/** Has a worker hold the lock of a session for this long. */
async function lock(session: string, lasts: string): Promise<void> {
  const owner = 'host:17:01890000-0000-7000-8000-000000000000';
  const held = { owner, contextTokens: 150_000, leaseExpiresAt: ahead(lasts) };
  await changeSessions(dashboard.rig, { key: `agent:main:${session}` }, held);
}

test('a row shows who holds the lock for how long, or that it has expired, and how full the context is', async () => {
  const { page, rig, signIn, open } = dashboard;
  for (const session of ['held', 'expired', 'free'])
    await rig.post(`/v1/sessions/${session}/messages`, { text: 'hello' });
  await lock('held', '3 hours');
  await lock('expired', '-1 hour');
  await signIn();
  await open('/sessions?columns=session,lock,context,tokens');
  await rowOf('agent:main:held').getByText('lease ends in 3 h host:17').waitFor();
  await rowOf('agent:main:expired').getByText('expired host:17').waitFor();
  const bar = rowOf('agent:main:held').getByRole('meter');
  expect(await bar.getAttribute('aria-label')).toBe('75 % of the context window: 150,000 of 200,000 tokens');
  expect(await rowOf('agent:main:free').getByRole('meter').getAttribute('value')).toBe('0');
  expect(await page.locator('.table-body').evaluate((body) => body.scrollWidth - body.clientWidth)).toBe(0);
});

test('the list is read again when a lease that it shows has ended', async () => {
  const { page, rig, signIn, open, settle, requests } = dashboard;
  await rig.post('/v1/sessions/renewed/messages', { text: 'hello' });
  await lock('renewed', '1 hour');
  await page.clock.install();
  await signIn();
  await open('/sessions?columns=session,lock');
  await rowOf('agent:main:renewed').waitFor();
  await settle();
  requests.length = 0;
  await lock('renewed', '3 hours');
  const lists = () => requests.filter(({ url }) => new URL(url).pathname === '/v1/sessions').length;
  await page.clock.fastForward(3_601_000);
  await expect.poll(lists).toBeGreaterThan(0);
  await rowOf('agent:main:renewed').getByText('lease ends in 3 h').waitFor();
});

test.each(['mouse', 'keyboard'] as const)(
  'the actions of a row open a menu and ask first, with the %s',
  async (kind) => {
    const { page, rig, signIn, open } = dashboard;
    const key = `agent:main:asked-${kind}`;
    for (const text of ['one', 'two']) await rig.post(`/v1/sessions/${key}/messages`, { text });
    await signIn();
    await open(`/sessions?q=${key}`);
    const hand = handOf(kind, page);
    const menu = page.getByRole('group', { name: `Actions… ${key}` });
    await hand.press(`Actions… ${key}`);
    await menu.waitFor();
    expect(await violationsOn(page)).toEqual([]);
    await hand.press(`Abort… ${key}`);
    await menu.waitFor({ state: 'hidden' });
    const question = page.getByRole('dialog', { name: 'Cancel 2 messages?' });
    await question.getByText(key).waitFor();
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'hidden' });
    const focused = await page.evaluate<string>('document.activeElement.textContent');
    expect(focused).toBe(`Actions… ${key}`);
  },
);

test('the message field of a session says what the configured queue mode, or that of the session, does now', async () => {
  const { page, rig, signIn, open } = dashboard;
  await rig.turns.sessionOf('moded');
  const id = await openTurnElsewhere(rig, { key: 'agent:main:moded' });
  await signIn();
  await open('/sessions/agent:main:moded');
  await page.getByText('Now it waits for a turn of its own.').waitFor();
  await rig.ask('PATCH', '/v1/sessions/moded', { payload: { queueMode: 'steer' } });
  await page.reload();
  await page.getByText('Now it joins the open turn at its next step.').waitFor();
  await changeTurns(rig, { id }, { status: 'parked', parkCode: 'model_away', parkText: 'The model is away.' });
  await changeSessions(rig, { key: 'agent:main:moded' }, { owner: null, leaseExpiresAt: null });
  await page.reload();
  await page.getByText('Now it joins the open turn at its next step. That turn waits for the reason above.').waitFor();

  await rig.turns.sessionOf('stilled');
  await rig.post('/v1/pause', { session: 'stilled' });
  await open('/sessions/stilled');
  await page.getByText('Now it waits, because work is paused.').waitFor();
});

test('a viewer has no actions, and cannot choose their column', async () => {
  const { page, rig, signIn, open } = dashboard;
  await rig.post('/v1/sessions/seen/messages', { text: 'hello' });
  await signIn(VIEWER_KEY);
  await open('/sessions');
  await rowOf('agent:main:seen').waitFor();
  expect(await page.getByRole('button', { name: /^(Actions|Abort|Compact|Reset)/, includeHidden: true }).count()).toBe(
    0,
  );
  await page.getByRole('button', { name: 'Columns', exact: true }).click();
  await page.getByRole('group', { name: 'Columns' }).getByLabel('Lock').waitFor();
  expect(await page.getByRole('group', { name: 'Columns' }).getByLabel('Actions').count()).toBe(0);
});

test('a row shows the words and the person; keys act before a row was clicked, and a phone shows the first row at once', async () => {
  const { page, rig, signIn, open } = dashboard;
  const key = 'agent:main:telegram:direct:491701234567890';
  await rig.post(`/v1/sessions/${key}/messages`, {
    text: 'Where is my order? [[reply: It arrives tomorrow.]]',
    channel: 'telegram',
    sender: { name: 'Ada' },
  });
  await rig.work(key);
  await page.setViewportSize({ width: 1440, height: 900 });
  await signIn();
  await open('/sessions?q=direct');
  for (const text of ['Where is my order?', 'It arrives tomorrow.', 'Ada · telegram'])
    await rowOf(key).getByText(text).last().waitFor();
  // Its title, with its key for those who do not see the pointer.
  await rowOf(key)
    .getByRole('link', { name: `Ada · telegram ${key}` })
    .waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.reload();
  await rowOf(key).getByText('Where is my order?').waitFor();
  expect(await page.getByRole('combobox', { name: 'Channel' }).isVisible()).toBe(false);
  const row = await rowOf(key).boundingBox();
  expect((row?.y ?? 844) + (row?.height ?? 0)).toBeLessThan(700);
  await page.getByText('Filters (1)').click();
  await page.getByRole('combobox', { name: 'Channel' }).waitFor();
  expect(await violationsOn(page)).toEqual([]);
  await page.getByText('Filters (1)').click();
  await page.getByRole('heading', { name: 'Sessions' }).click();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: key }).waitFor();
  await page.keyboard.press('Enter');
  await expect.poll(() => decodeURIComponent(new URL(page.url()).pathname)).toBe(`/sessions/${key}`);
});

test.each(['light', 'dark'] as const)('at 320 px, %s, a session is a card with its actions', async (colorScheme) => {
  const { page, rig, signIn, open } = dashboard;
  await rig.post('/v1/sessions/narrow/messages', { text: 'hello' });
  await lock('narrow', '1 hour');
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width: 320, height: 720 });
  await signIn();
  await open('/sessions?q=narrow');
  await rowOf('agent:main:narrow').waitFor();
  expect(await violationsOn(page)).toEqual([]);
  await page.getByRole('button', { name: 'Actions… agent:main:narrow' }).click();
  await page.getByRole('button', { name: 'Reset… agent:main:narrow' }).waitFor();
  expect(await violationsOn(page)).toEqual([]);
  expect(await overflowOf(page)).toBe(0);
});
