// The contents of the screens, by mouse and by keyboard, in both themes and at 320 px.
import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { addSessions } from '../rows/sessions.ts';
import { now } from '../rows/table.ts';
import { addTurns } from '../rows/turns.ts';
import { violationsOn } from './axe.ts';
import { useDashboard } from './dashboard-rig.ts';
import { handOf } from './hand.ts';
import { seedScreens } from './seed-screens.ts';

const dashboard = useDashboard();

test('a turn is opened from the list by keyboard, with its timeline and the exact request', async () => {
  const { page, context, signIn, open } = dashboard;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await seedScreens(dashboard.rig);
  await signIn();
  await open('/turns?session=told');
  await page.locator('[role=row][tabindex="0"]').focus();
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await page.keyboard.press('Enter');
  await page
    .getByRole('region', { name: /^Turn / })
    .getByText('echo')
    .first()
    .waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('list', { name: 'Spans' }).getByText('tool echo').waitFor();
  await page.getByRole('tab', { name: 'Request' }).click();
  await page.getByText('proved equal').waitFor();
  await page.getByText('untrusted', { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'Copy JSON' }).click();
  await page.getByText('Copied', { exact: true }).waitFor();
  const copied = JSON.parse(await page.evaluate<string>('navigator.clipboard.readText()'));
  expect(copied).toMatchObject({ stream: true, messages: [{ role: 'user' }] });
  await page.goBack();
  await page.getByRole('heading', { name: 'Turns' }).waitFor();
  expect(new URL(page.url()).searchParams.get('session')).toBe('told');
});

test('a turn shows what triggered it, and the messages and system events in its prompt', async () => {
  const { page, signIn, open, rig } = dashboard;
  await rig.post('/v1/sessions/prompted/system-events', { text: 'the door is open' });
  await rig.post('/v1/sessions/prompted/spawn', { task: 'look [[reply: seen]]' });
  const [{ childSessionKey }] = (await rig.get('/v1/sessions/prompted/subagents')).body.items;
  await rig.work(childSessionKey);
  await rig.work('prompted');
  const [turn] = (await rig.get('/v1/turns?session=prompted')).body.items;
  await signIn();
  await open(`/turns/${turn.id}?tab=prompt`);
  await page.getByRole('region', { name: 'Parts of the prompt' }).getByText('announcement').first().waitFor();
  await page.getByRole('region', { name: 'System events' }).getByText('the door is open').waitFor();
  const message = page.getByRole('region', { name: 'Messages' }).getByRole('article');
  await message.getByText('[System Message]').waitFor();
  await message.getByRole('link', { name: childSessionKey }).click();
  await page.getByRole('heading', { name: childSessionKey }).waitFor();
  const [child] = (await rig.get(`/v1/turns?session=${childSessionKey}`)).body.items;
  await open(`/turns/${child.id}`);
  await page.getByText('a spawn:').getByRole('link', { name: 'agent:main:prompted' }).waitFor();
});

test('untrusted text is shown as text: none of it is executed, and invisible characters are marked', async () => {
  const { page, signIn, open } = dashboard;
  await seedScreens(dashboard.rig);
  await signIn();
  await open('/sessions/agent:main:told');
  const reply = page.getByRole('article').first();
  await reply.getByText('<script>globalThis.wasRun = true</script>').waitFor();
  expect(await reply.locator('script, img, a[href^="javascript"]').count()).toBe(0);
  expect(await reply.locator('.mark').allTextContents()).toEqual(['U+202E', 'U+200B']);
  expect(await reply.textContent()).not.toContain('[31m');
  expect(await page.evaluate(() => 'wasRun' in globalThis)).toBe(false);
});

test('a message is sent from the page, and its reply appears by itself', async () => {
  const { page, signIn, open, rig } = dashboard;
  await seedScreens(dashboard.rig);
  await signIn();
  await open('/sessions/agent:main:told');
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByLabel('Message', { exact: true }).fill('[[reply: it appears]]');
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => page.getByLabel('Message', { exact: true }).inputValue()).toBe('');
  await rig.work('told');
  await page.getByRole('article').getByText('it appears', { exact: true }).waitFor();
});

test('the title of a page says which screen it shows, and of which turn, session or family', async () => {
  const { page, rig, url, signIn, open } = dashboard;
  await rig.post('/v1/sessions/titled/messages', { text: '[[reply: hello]]' });
  await rig.work('titled');
  const { id } = (await rig.get('/v1/turns?session=titled')).body.items[0];
  await page.goto(url);
  await expect.poll(() => page.title()).toBe('Sign in · Holdfast');
  await signIn();
  const titles: Record<string, string> = {
    '/': 'Overview',
    '/dead-letters': 'Dead letters',
    [`/turns/${id}?tab=steps`]: `Turn ${id.slice(-6)}`,
    '/sessions/agent:main:titled': 'Session agent:main:titled',
    '/sessions/agent:main:titled/family': 'Family of session agent:main:titled',
  };
  for (const [path, title] of Object.entries(titles)) {
    await open(path);
    await expect.poll(() => page.title()).toBe(`${title} · Holdfast`);
  }
});

test('at 320 px the header takes at most 15 % of the window, and its choices are behind one button', async () => {
  const { page, signIn, open } = dashboard;
  await page.setViewportSize({ width: 320, height: 720 });
  await signIn();
  await open('/');
  expect((await page.locator('header .bar').boundingBox())?.height).toBeLessThan(108);
  const zone = page.getByRole('combobox', { name: 'Time zone' });
  expect(await zone.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Menu' }).click();
  await zone.selectOption('UTC');
  expect(await violationsOn(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await zone.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Holdfast' }).waitFor();
});

test('all that match are retried as one bulk action, counted first', async () => {
  const { page, signIn, open, rig } = dashboard;
  await rig.post('/v1/sessions/once/messages', { text: '[[error: 400 message="the provider says no"]]' });
  await rig.work('once');
  await signIn();
  await open('/turns?session=once&status=failed');
  await handOf('mouse', page).press('Retry all that match…');
  await page.getByRole('heading', { name: 'Retry 1 turn?' }).waitFor();
  await page.getByLabel('Reason').fill('tried again');
  await page.getByRole('button', { name: 'Retry 1 turn', exact: true }).click();
  await page.getByText('0 done, 0 skipped, 0 failed of 1').waitFor();
  const { items } = (await rig.get('/v1/bulk-actions')).body;
  expect(items[0]).toMatchObject({ action: 'retry', total: 1, reason: 'tried again', createdBy: 'admin' });
});

test('a list of any length has at most 80 rows in the document, also after scrolling', async () => {
  const { page, signIn, open, rig } = dashboard;
  const sessionId = newId<string>();
  await addSessions(rig, { id: sessionId, key: 'agent:main:long' });
  await addTurns(rig, ...Array.from({ length: 1000 }, () => ({ sessionId, endedAt: now })));
  await signIn();
  await open('/turns?session=long');
  const body = page.locator('.table-body');
  await page.locator('[role=row][data-index="0"]').waitFor();
  for (let n = 1; n <= 6; n += 1) {
    await body.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
    await page.locator(`[role=row][data-index="${n * 100}"]`).waitFor({ state: 'attached' });
    expect(await page.locator('[role=row]').count()).toBeLessThan(80);
  }
});
