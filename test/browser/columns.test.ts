// The lists: their columns, their choices, their current row as a command, and the state that Back
// restores.
import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { ADMIN_KEY } from '../api/api-rig.ts';
import { addSessions } from '../rows/sessions.ts';
import { now } from '../rows/table.ts';
import { addTurns } from '../rows/turns.ts';
import { violationsOn } from './axe.ts';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();

async function ended(session: string): Promise<string> {
  const { rig } = dashboard;
  await rig.post(`/v1/sessions/${session}/messages`, { text: '[[reply: hello]]' });
  await rig.work(session);
  return (await rig.get(`/v1/turns?session=${session}`)).body.items[0].id;
}

/** Without that of the boxes that select rows. */
const titlesOf = async (): Promise<string[]> =>
  (await dashboard.page.getByRole('columnheader').allTextContents()).filter((title) => title !== '');

test('the columns of a list are chosen by keyboard, kept in the URL, and chosen again by a reload and by Back', async () => {
  const { page, rig, signIn, open } = dashboard;
  const id = await ended('chosen');
  await signIn();
  await open('/turns?session=chosen');
  const titles = titlesOf;
  await page.getByRole('button', { name: 'Columns', exact: true }).focus();
  await page.keyboard.press('Enter');
  const chooser = page.getByRole('group', { name: 'Columns' });
  for (const name of ['First words', 'Answer', 'From', 'Cost', 'Id']) {
    await chooser.getByLabel(name, { exact: true }).focus();
    await page.keyboard.press('Space');
  }
  expect(await violationsOn(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await chooser.waitFor({ state: 'hidden' });
  const chosen = ['Status', 'Turn', 'Session', 'Took', 'Started', 'Id'];
  await expect.poll(titles).toEqual(chosen);
  expect(new URL(page.url()).searchParams.get('columns')).toBe(chosen.join(',').toLowerCase());
  await page.reload();
  await expect.poll(titles).toEqual(chosen);
  await page.getByRole('link', { name: `message ${id.slice(-6)}` }).click();
  await page.getByRole('tab', { name: 'Timeline' }).waitFor();
  await page.goBack();
  await expect.poll(titles).toEqual(chosen);
  await page.getByRole('button', { name: 'Columns', exact: true }).click();
  await chooser.getByRole('button', { name: 'Usual columns' }).click();
  await expect.poll(() => new URL(page.url()).search).toBe('?session=chosen');

  await open('/sessions?columns=session,created');
  await expect.poll(titles).toEqual(['Session', 'Created']);
  await open('/sessions?columns=session,tokens,channel,queue mode,model');
  await expect.poll(titles).toEqual(['Session', 'Tokens', 'Channel', 'Queue mode', 'Model']);
  const [{ key, tokens }] = (await rig.get('/v1/sessions')).body.items;
  const used = page.getByRole('row').filter({ hasText: key }).getByRole('cell').nth(1);
  await expect
    .poll(async () => (await used.textContent())?.replaceAll(/\D/g, ''))
    .toBe(String(tokens.input + tokens.output));
});

test('a column is widened with the keyboard; widths, columns and named filters are kept, and the URL takes precedence', async () => {
  const { page, signIn, open } = dashboard;
  await ended('kept');
  await signIn();
  await open('/turns?session=kept&columns=turn,first words,took');
  const handle = page.getByRole('separator', { name: 'Width of Turn' });
  const widthPx = async (): Promise<number> => Number(await handle.getAttribute('aria-valuenow'));
  await handle.focus();
  // As wide as its declaration says.
  const before = 134;
  await expect.poll(widthPx).toBe(before);
  await page.keyboard.press('ArrowRight');
  await expect.poll(widthPx).toBe(before + 16);
  await page.getByRole('button', { name: 'Columns', exact: true }).click();
  await page.getByRole('group', { name: 'Columns' }).getByLabel('Took').uncheck();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Views', exact: true }).click();
  await page.getByLabel('Name of the view').fill('those that I keep');
  await page.keyboard.press('Enter');
  const titles = titlesOf;

  await open('/turns');
  await expect.poll(titles).toEqual(['Turn', 'First words']);
  await expect.poll(widthPx).toBe(before + 16);
  await page.getByRole('button', { name: 'Views (1)' }).click();
  expect(await violationsOn(page)).toEqual([]);
  await page.getByRole('link', { name: 'those that I keep' }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get('session')).toBe('kept');
  await open('/turns?columns=session,id');
  await expect.poll(titles).toEqual(['Session', 'Id']);
});

test('the current row is copied as a command for curl, as one of the command line, and as JSON', async () => {
  const { page, context, url, signIn, open } = dashboard;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const id = await ended('copied');
  await signIn();
  await open('/turns?session=copied');
  await page.locator('[role=row][tabindex="0"]').focus();
  const copied = async (name: string): Promise<string> => {
    await page.getByRole('button', { name, exact: true }).click();
    return page.evaluate<string>('navigator.clipboard.readText()');
  };
  await page.getByRole('button', { name: `Copy turn ${id.slice(-6)}…` }).click();
  await page.getByRole('group', { name: `Copy turn ${id.slice(-6)}` }).waitFor();
  await expect
    .poll(() => copied('curl'))
    .toBe(`curl -H "Authorization: Bearer $HOLDFAST_API_KEY" '${url}/v1/turns/${id}'`);
  await expect.poll(() => copied('CLI')).toBe(`npx holdfast turns show ${id}`);
  await expect.poll(async () => (await copied('JSON')).startsWith('{')).toBe(true);
  expect(JSON.parse(await copied('JSON'))).toMatchObject({ id, sessionKey: 'agent:main:copied' });
  const key = 'agent:main:copied';
  await page.getByRole('link', { name: key }).selectText();
  await page.keyboard.press('Control+c');
  await expect.poll(() => page.evaluate<string>('navigator.clipboard.readText()')).toBe(key);
});

test('filters are choices of what exists and ranges that end now, which the URL keeps by name', async () => {
  const { page, signIn, open, requests } = dashboard;
  await ended('chosen-by');
  await signIn();
  await open('/turns?session=chosen-by');
  const agent = page.getByRole('combobox', { name: 'Agent' });
  await expect.poll(() => agent.getByRole('option').allTextContents()).toEqual(['any', 'main']);
  await agent.selectOption('main');
  await page.getByRole('combobox', { name: 'Time' }).selectOption('last hour');
  await expect.poll(() => new URL(page.url()).search).toBe('?session=chosen-by&agent=main&since=1h');
  const since = () =>
    requests
      .map(({ url }) => new URL(url))
      .findLast(({ pathname, searchParams }) => pathname === '/v1/turns' && searchParams.has('since'))
      ?.searchParams.get('since');
  await expect.poll(since).toBeDefined();
  expect(Math.abs(Date.now() - 3_600_000 - Date.parse(since()!))).toBeLessThan(60_000);
  await page.getByRole('row').filter({ hasText: 'chosen-by' }).waitFor();
  // A value that does not exist any more is offered, too.
  await open('/turns?agent=gone');
  expect(await agent.inputValue()).toBe('gone');
});

test('Back restores the filters of a list and how far it was scrolled', async () => {
  const { page, rig, signIn, open } = dashboard;
  const sessionId = newId<string>();
  await addSessions(rig, { id: sessionId, key: 'agent:main:scrolled' });
  await addTurns(rig, ...Array.from({ length: 90 }, () => ({ sessionId, endedAt: now })));
  await signIn();
  await open('/turns?session=scrolled&status=completed');
  const body = page.locator('.table-body');
  await page.locator('[role=row][data-index="0"]').waitFor();
  await body.evaluate((element) => element.scrollTo({ top: 1_500 }));
  const row = page.locator('[role=row][data-index="45"]');
  await row.waitFor();
  await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.goBack();
  await row.waitFor();
  // The heights of rows are measured again: the place is the same but for less than a row.
  const offset = async (): Promise<number> => Math.abs((await body.evaluate((element) => element.scrollTop)) - 1_500);
  await expect.poll(offset).toBeLessThan(37);
  expect(new URL(page.url()).search).toBe('?session=scrolled&status=completed');
});

test('times are shown in local time or in UTC, everywhere and after a reload', async () => {
  const { rig, context, url } = dashboard;
  const id = await ended('zoned');
  const { startedAt } = (await rig.get(`/v1/turns/${id}`)).body;
  const elsewhere = await context.browser()!.newContext({ timezoneId: 'Asia/Kathmandu', locale: 'en-GB' });
  try {
    const tab = await elsewhere.newPage();
    await elsewhere.request.post(`${url}/v1/auth/sessions`, { data: { key: ADMIN_KEY } });
    const shown = tab.locator(`time[datetime="${startedAt}"]`).first();
    const textIn = (timeZone: string) =>
      new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone }).format(
        new Date(startedAt),
      );
    await tab.goto(`${url}/turns/${id}`);
    await expect.poll(() => shown.textContent()).toBe(textIn('Asia/Kathmandu'));
    await tab.getByRole('button', { name: 'Menu' }).click();
    await tab.getByRole('combobox', { name: 'Time zone' }).selectOption('UTC');
    await expect.poll(() => shown.textContent()).toBe(textIn('UTC'));
    await tab.reload();
    await expect.poll(() => shown.textContent()).toBe(textIn('UTC'));
  } finally {
    await elsewhere.close();
  }
});

test('the usual columns fit into a window of 1,280 px, and more of them are scrolled together with their titles', async () => {
  const { page, signIn, open } = dashboard;
  await ended('wide');
  await signIn();
  await open('/turns?session=wide');
  const body = page.locator('.table-body');
  const left = async (role: 'columnheader' | 'cell', n: number): Promise<number> =>
    Math.round((await page.getByRole(role).nth(n).boundingBox())?.x ?? Number.NaN);
  await page.getByRole('cell').first().waitFor();
  expect(await body.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);

  await open('/turns?session=wide&columns=status,turn,session,model,started,ended,worker,id,why,tags');
  await page.getByRole('cell').first().waitFor();
  await body.evaluate((element) => element.scrollTo({ left: 30 }));
  await expect.poll(() => body.evaluate((element) => element.scrollLeft)).toBe(30);
  await expect.poll(async () => (await left('columnheader', 5)) - (await left('cell', 5))).toBe(0);
});
