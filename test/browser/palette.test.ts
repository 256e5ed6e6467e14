// The command palette, by keyboard: screens, objects that the service finds, the actions of the
// screen, and recently opened objects.
import { expect, test } from 'vitest';
import { violationsOn } from './axe.ts';
import { indexTexts } from '../../src/features/search/rounds.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';

const dashboard = useDashboard();

/** Opens the palette by its key and writes into it. */
async function seek(text: string) {
  const { page } = dashboard;
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Go to or do' });
  await palette.waitFor();
  await page.keyboard.type(text);
  return palette;
}

test('a screen is opened by its name, and recently opened objects are offered first', async () => {
  const { page, rig, signIn, open } = dashboard;
  await rig.post('/v1/sessions/recent/messages', { text: '[[reply: hello]]' });
  await signIn();
  await open('/sessions/agent:main:recent');
  const palette = await seek('deliv');
  await palette.getByRole('option', { name: 'Screen Deliveries', selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
  expect(await palette.count()).toBe(0);

  await seek('');
  await palette.getByRole('option').first().getByText('session agent:main:recent').waitFor();
  await page.keyboard.press('ArrowDown');
  await palette.getByRole('option', { name: 'Screen Overview', selected: true }).waitFor();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'recent' }).waitFor();
});

test('a session, a turn, a message, a batch and a cron are found by id or key', async () => {
  const { page, rig, signIn, open } = dashboard;
  const { message } = (await rig.post('/v1/sessions/sought/messages', { text: '[[reply: hello]]' })).body;
  await rig.work('sought');
  const { turnId } = (await rig.get(`/v1/messages/${message.id}`)).body;
  const items = [{ text: 'hello' }];
  const batch = (await rig.post('/v1/batches', { name: 'nightly import', items })).body;
  const schedule = { kind: 'every', everyMs: 3_600_000 };
  const cron = (
    await rig.post('/v1/crons', {
      name: 'tidy up',
      agentId: 'main',
      schedule,
      payload: { kind: 'agentTurn', message: 'x' },
    })
  ).body;
  expect([batch.name, cron.name]).toEqual(['nightly import', 'tidy up']);
  await signIn();
  await open('/');
  const palette = await seek('sought');
  await palette.getByRole('option', { name: /^Session sought.*agent:main:sought/ }).waitFor();
  await palette.getByRole('option', { name: /^Turn .*reply: hello/ }).waitFor();
  for (const [text, name] of [
    [turnId, /^Turn/],
    [turnId.slice(-6), /^Turn/],
    [message.id, /^Message/],
    [message.id.slice(-6), /^Message/],
    ['nightly', /^Batch nightly import/],
    ['tidy', /^Cron tidy up/],
  ] as const) {
    await palette.getByRole('combobox').fill(text);
    await palette.getByRole('option', { name }).waitFor();
  }
  await palette.getByRole('combobox').fill(message.id);
  await palette.getByRole('option', { name: /^Message/, selected: false }).waitFor();
  await palette.getByRole('option', { name: /^Message/ }).click();
  await expect.poll(() => new URL(page.url()).pathname).toBe(`/turns/${turnId}`);
});

test('the actions of the screen can be run, and a viewer is offered none that changes something', async () => {
  const { page, rig, context, signIn, open } = dashboard;
  await rig.post('/v1/sessions/acted/messages', { text: '[[error: 400 message="the provider says no"]]' });
  await rig.work('acted');
  const { id } = (await rig.get('/v1/turns?session=acted')).body.items[0];
  await signIn();
  await open(`/turns/${id}`);
  const palette = await seek('retry');
  await palette.getByRole('option', { name: 'Action Retry…', selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Retry the turn' }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(async () => (await rig.get('/v1/sessions/acted')).body.waitingMessages).toBe(1);

  await context.clearCookies();
  await signIn(VIEWER_KEY);
  await open(`/turns/${id}`);
  await seek('retry');
  await palette.getByText('Nothing fits.').waitFor();
});

test('the palette has no violation that axe finds, in both themes, at 320 px and in forced colours', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  const faults: string[] = [];
  for (const [colorScheme, forcedColors, width] of [
    ['light', 'none', 1280],
    ['dark', 'none', 1280],
    ['light', 'none', 320],
    ['light', 'active', 1280],
  ] as const) {
    await page.emulateMedia({ colorScheme, forcedColors });
    await page.setViewportSize({ width, height: 720 });
    await open('/');
    await seek('s');
    faults.push(...(await violationsOn(page)).map((fault) => `${colorScheme} ${forcedColors} ${width}: ${fault}`));
  }
  expect(faults).toEqual([]);
});

test('the palette opens by its key while a person types and while other keys are off, and / leads to the search where there is no filter', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open('/');
  const palette = page.getByRole('dialog', { name: 'Go to or do' });
  await page.keyboard.press('/');
  await page.getByRole('searchbox', { name: 'Words' }).waitFor();
  await open('/');
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('button', { name: 'Keys and help' }).click();
  const help = page.getByRole('dialog', { name: 'Keys' });
  await help.getByRole('checkbox').uncheck();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
  await open('/turns');
  await page.keyboard.press('/');
  await page.keyboard.press('?');
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.getByRole('textbox', { name: 'Session', exact: true }).focus();
  await page.keyboard.press('Control+k');
  await palette.waitFor();
});

test('words that were said are found by keyboard, in the search and in Go to, and lead to their entry', async () => {
  const { page, rig, signIn, open } = dashboard;
  for (const [session, text] of [
    ['harbour', 'When does the ferry to Ærø leave? [[reply: The ferry leaves at 9.]]'],
    ['office', 'Book the <b>ferry</b> \u202efor me [[error: 400 message="No ferry today"]]'],
  ] as const) {
    await rig.post(`/v1/sessions/${session}/messages`, { text });
    await rig.work(session);
  }
  await indexTexts(rig.turns.database, new AbortController().signal);
  await signIn();
  await open('/search');
  const hits = page.getByRole('list', { name: 'Hits' });
  await page.keyboard.type('ferry');
  await expect.poll(() => hits.getByRole('listitem').count()).toBe(4);
  expect(await hits.locator('mark').allInnerTexts()).toEqual(['ferry', 'ferry', 'ferry', 'ferry', 'ferry', 'ferry']);
  expect(await violationsOn(page)).toEqual([]);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('j');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await expect.poll(() => new URL(page.url()).search).toBe('?entry=2');
  await page.getByRole('heading', { name: 'harbour' }).waitFor();
  await page.goBack();
  await expect.poll(() => hits.getByRole('listitem').count()).toBe(4);
  await page.getByRole('combobox', { name: 'Kind' }).selectOption('error');
  await expect.poll(() => hits.getByRole('listitem').count()).toBe(1);
  await page.getByRole('searchbox', { name: 'Words' }).fill('zeppelin');
  await page.getByText('Nothing that was said has these words').waitFor();
  await page.getByRole('button', { name: 'Clear the filters' }).click();
  await page.getByRole('searchbox', { name: 'Words' }).fill('?');
  await page.getByText('has no words').waitFor();

  const palette = await seek('ferry leaves');
  await palette
    .getByRole('option', { name: /^Words .*ferry leaves at 9/ })
    .first()
    .waitFor();
  await palette.getByRole('option', { name: 'Words All with ferry leaves' }).click();
  await hits.getByRole('listitem').first().waitFor();
  expect(new URL(page.url()).searchParams.get('q')).toBe('ferry leaves');
});

test('the focus returns to where it was after Go to, the help and a question', async () => {
  const { page, rig, signIn, open } = dashboard;
  await rig.post('/v1/sessions/focused/messages', { text: '[[error: 400 message="no"]]' });
  await rig.work('focused');
  const { id } = (await rig.get('/v1/turns?session=focused')).body.items[0];
  await signIn();
  await open(`/turns/${id}`);
  const retry = page.getByRole('button', { name: 'Retry…' });
  const hasFocus = async (): Promise<boolean> => (await retry.and(page.locator(':focus')).count()) === 1;
  for (const [key, name] of [
    ['Control+k', 'Go to or do'],
    ['?', 'Keys'],
    ['Enter', /Retry/],
  ] as const) {
    await retry.focus();
    await page.keyboard.press(key);
    const dialog = page.getByRole('dialog', { name });
    await dialog.waitFor();
    expect(await hasFocus()).toBe(false);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(hasFocus).toBe(true);
  }
});

test('on a phone the bar has five places, and More has the other screens', async () => {
  const { page, signIn, open } = dashboard;
  await page.setViewportSize({ width: 390, height: 844 });
  await signIn();
  await open('/');
  const bar = page.getByRole('navigation', { name: 'Screens' });
  const places = (await bar.getByRole('link').allInnerTexts()).map((text) => text.split('\n')[0]);
  expect(places).toEqual(['Overview', 'Sessions', 'Turns', 'Waiting']);
  expect((await page.locator('header .bar').boundingBox())?.height).toBeLessThan(50);
  await bar.getByRole('button', { name: 'More' }).click();
  expect(await violationsOn(page)).toEqual([]);
  await bar.getByRole('link', { name: 'Dead letters' }).click();
  await page.getByRole('heading', { name: 'Dead letters' }).waitFor();
  await bar.getByRole('link', { name: 'Dead letters' }).waitFor({ state: 'hidden' });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
});
