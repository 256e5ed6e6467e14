// How figures have changed: the last hour of each figure of the overview, and the last day of each
// group of dead letters.
import { expect, test } from 'vitest';
import { violationsOn } from './axe.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';

const dashboard = useDashboard();

/** A turn that was answered, one that failed, and a message that waits. */
async function play(): Promise<void> {
  const { rig } = dashboard;
  await rig.post('/v1/sessions/played/messages', {
    text: '[[usage: input=1000 output=500 cache-read=3000 cache-write=0]] [[reply: ok]]',
  });
  await rig.work('played');
  await rig.post('/v1/sessions/failing/messages', { text: '[[error: 400 message="the provider says no"]]' });
  await rig.work('failing');
  await rig.post('/v1/sessions/waits/messages', { text: 'later' });
}

const FIGURES = [
  ['Waiting', 'Messages that waited'],
  ['Running', 'Turns that ran'],
  ['Turns per minute', 'Turns that ended'],
  ['Ended well', 'Ended well'],
  ['First token, p95', 'First token, p95'],
  ['Turn, p95', 'Turn, p95'],
  ['Cost today', 'Cost'],
  ['Input from the cache', 'Input from the cache'],
] as const;

test('each figure of the overview has its last hour, in words and in a table of the minutes of the API', async () => {
  const { page, signIn, open, rig } = dashboard;
  await play();
  const { points } = (await rig.get('/v1/overview')).body;
  await signIn(VIEWER_KEY);
  await open('/');
  const figures = page.getByRole('region', { name: 'Work', exact: true });
  await figures.getByText('Waiting', { exact: true }).waitFor();
  expect(await figures.locator('dt').allTextContents()).toEqual(FIGURES.map(([name]) => name));
  for (const [, minutes] of FIGURES)
    await figures.getByRole('img', { name: new RegExp(`^${minutes}, last hour: from `) }).waitFor();
  await figures.getByRole('img', { name: 'Input from the cache, last hour: from 75 % to 75 %' }).waitFor();

  await figures.getByRole('button', { name: 'Figures as a table' }).focus();
  await page.keyboard.press('Enter');
  const rows = figures.getByRole('row');
  await rows.first().waitFor();
  expect(await rows.first().getByRole('columnheader').allTextContents()).toEqual([
    'Starts',
    ...FIGURES.map(([, minutes]) => minutes),
  ]);
  expect(await rows.count()).toBe(61);
  const column = (n: number): Promise<string[]> => figures.locator(`tbody td:nth-of-type(${n})`).allTextContents();
  const ended = (await column(3)).map(Number).reduce((sum, count) => sum + count, 0);
  expect(ended).toBe(points.ends.reduce((sum: number, count: number) => sum + count, 0));
  expect((await column(4)).filter((text) => text === 'none').length).toBe(
    points.ends.filter((count: number) => count === 0).length,
  );
});

test('a group of dead letters has its last 24 hours, and the API filters by code', async () => {
  const { page, signIn, open, requests } = dashboard;
  await play();
  await signIn();
  await open('/dead-letters?code=model_invalid_request');
  const group = page.getByRole('region', { name: 'model_invalid_request' });
  await group.getByRole('img', { name: /^Letters per hour, last 24 hours: from 0 to \d+$/ }).waitFor();
  await group.getByText('the provider says no').first().waitFor();
  await group.getByText('in the last 24 hours').click();
  await group.getByRole('table').waitFor();
  expect(await group.getByRole('table').getByRole('row').count()).toBe(25);
  const counts = await group.locator('tbody td').allTextContents();
  expect(counts.map(Number).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  const lists = requests.filter(({ url }) => new URL(url).pathname === '/v1/dead-letters');
  expect(lists.map(({ url }) => new URL(url).searchParams.get('code'))).toContain('model_invalid_request');
  await open('/dead-letters?code=none_has_this');
  await page.getByText('There are none with this code.').waitFor();
});

test.each(['light', 'dark'] as const)('figures and trends have no violation at 320 px: %s', async (colorScheme) => {
  const { page, signIn, open, settle } = dashboard;
  await play();
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width: 320, height: 720 });
  await signIn();
  for (const [path, table] of [
    ['/', 'Table'],
    ['/dead-letters', 'in the last 24 hours'],
  ] as const) {
    await open(path);
    await page.getByText(table).first().click();
    await settle();
    expect(await violationsOn(page)).toEqual([]);
    expect(
      await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
    ).toBe(0);
  }
});
