// The charts of steps of time: their bars, their names in the chosen zone, and their tables.
import { expect, test } from 'vitest';
import {
  axisTexts,
  barPaths,
  CHART_HEIGHT,
  highestStack,
  linePath,
  stepTexts,
  valueMarks,
} from '../../web/src/format/chart.ts';
import { violationsOn } from './axe.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';

const dashboard = useDashboard();

/** A turn that read from the cache, and one that failed. */
async function spend(): Promise<void> {
  const { rig } = dashboard;
  await rig.post('/v1/sessions/charted/messages', {
    text: '[[usage: input=1000 output=500 cache-read=2000 cache-write=300]] [[reply: ok]]',
  });
  await rig.work('charted');
  await rig.post('/v1/sessions/failing/messages', { text: '[[error: 400 message="the provider says no"]]' });
  await rig.work('failing');
}

const points = async () => (await dashboard.rig.get('/v1/overview')).body.points;
const sum = (values: number[]): number => values.reduce((one, other) => one + other, 0);

test('a chart is opened as a table by keyboard, and has the minutes of the API', async () => {
  const { page, signIn, open } = dashboard;
  await spend();
  const before = await points();
  await signIn(VIEWER_KEY);
  await open('/');
  const figure = page.getByRole('figure', { name: 'Arrivals and ends' });
  await expect.poll(() => figure.getByRole('img').count()).toBe(2);
  const button = figure.getByRole('button', { name: 'Arrivals and ends as a table' });
  await button.focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => button.getAttribute('aria-pressed')).toBe('true');
  await figure.getByRole('table').waitFor();
  const rows = figure.getByRole('row');
  expect(await rows.first().getByRole('columnheader').allTextContents()).toEqual([
    'Starts',
    'Messages that arrived',
    'Messages that arrived, day before',
    'Turns that ended well',
    'Turns that failed',
  ]);
  expect(await rows.count()).toBe(61);
  const sums = [0, 2, 3].map(async (column) =>
    sum((await figure.locator(`tbody td:nth-of-type(${column + 1})`).allTextContents()).map(Number)),
  );
  const [arrivals, well, failed] = await Promise.all(sums);
  expect(arrivals).toBe(sum(before.arrivals));
  expect(well).toBe(sum(before.ends) - sum(before.failures));
  expect(failed).toBe(sum(before.failures));
  expect(failed).toBeGreaterThan(0);
  await page.keyboard.press('Enter');
  await figure
    .getByRole('img')
    .last()
    .hover({ position: { x: 2, y: 20 } });
  const name = await figure.getByText('Messages that arrived').textContent();
  expect(name).toContain(`Messages that arrived ${before.arrivals[0]}`);
});

test('times of a chart are in the chosen zone', async () => {
  const { context, url, signIn } = dashboard;
  await spend();
  await signIn();
  const elsewhere = await context.browser()!.newContext({
    storageState: await context.storageState(),
    locale: 'en-GB',
    timezoneId: 'Asia/Kolkata',
  });
  const page = await elsewhere.newPage();
  await page.goto(`${url}/`);
  const figure = page.getByRole('figure', { name: 'Tokens and cost' });
  await figure.getByRole('button').click();
  const { startsAt } = await points();
  const time = figure.locator(`time[datetime="${startsAt[30]}"]`);
  const textIn = (timeZone: string): string =>
    new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone }).format(
      new Date(startsAt[30]),
    );
  expect(await time.textContent()).toBe(textIn('Asia/Kolkata'));
  await page.evaluate(`localStorage.setItem('holdfast.settings', '{"zone":"utc"}')`);
  await page.reload();
  await figure.getByRole('button').click();
  await figure.getByRole('columnheader', { name: 'Starts (UTC)' }).waitFor();
  expect(await time.textContent()).toBe(textIn('UTC'));
  await elsewhere.close();
});

test('in forced colours each kind of token has its own colour, that of its name', async () => {
  const { page, signIn, open } = dashboard;
  await spend();
  await signIn();
  await page.emulateMedia({ forcedColors: 'active' });
  await open('/costs?by=minute');
  const figure = page.getByRole('figure', { name: 'Tokens' });
  await figure.getByRole('img').waitFor();
  const fillsOf = (selector: string): Promise<string[]> =>
    page.evaluate<string[]>(
      `[...[...document.querySelectorAll('figure')].at(-1).querySelectorAll('${selector} path')].map((path) => getComputedStyle(path).fill)`,
    );
  const fills = await fillsOf('.chart');
  expect(new Set(fills).size).toBe(4);
  // The lowest bars are drawn last, above the others.
  expect(await fillsOf('.chart-key')).toEqual(fills.toReversed());
});

test.each([
  { name: 'dark', width: 1280, media: { colorScheme: 'dark' } },
  { name: 'light, at 320 px', width: 320, media: { colorScheme: 'light' } },
  { name: 'in forced colours', width: 1280, media: { forcedColors: 'active' } },
] as const)('charts as tables have no violation that axe finds: $name', async ({ width, media }) => {
  const { page, signIn, open } = dashboard;
  await spend();
  await signIn();
  await page.emulateMedia(media);
  await page.setViewportSize({ width, height: 720 });
  for (const path of ['/', '/costs']) {
    await open(path);
    await page.getByRole('figure').first().waitFor();
    for (const button of await page.getByRole('button', { name: 'as a table' }).all()) await button.click();
    await page.getByRole('figure').first().getByRole('table').waitFor();
    expect(await violationsOn(page)).toEqual([]);
    expect(
      await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
    ).toBe(0);
  }
});

/** The top of each bar of a path. */
const topsOf = (path: string): number[] => [...path.matchAll(/V([-\d.]+)h/g)].map(([, top]) => Number(top));

test('bars are stacked inside the chart, and the smallest value can be seen', () => {
  const series = [
    [1, 1_000_000, 0],
    [1, 0, 5],
  ];
  const most = highestStack(series);
  expect(most).toBe(1_000_000);
  const [lower, upper] = barPaths(series, most).map(topsOf);
  expect(lower).toHaveLength(2);
  expect(upper).toHaveLength(2);
  expect(lower![0]).toBe(CHART_HEIGHT - 2);
  expect(upper![0]).toBeLessThanOrEqual(lower![0]!);
  expect(Math.min(...lower!, ...upper!)).toBeGreaterThanOrEqual(0);
});

test('no bar is drawn for steps without a value, or with one below 0', () => {
  expect(barPaths([[0, -5], [0]], 10)).toEqual(['', '']);
  expect(barPaths([[0, 0]], highestStack([[0, 0]]))).toEqual(['']);
  expect(highestStack([[-3], [2]])).toBe(2);
  expect(highestStack([])).toBe(0);
});

test('the axis of values ends at a round number, and the day before is a line with gaps', () => {
  expect(valueMarks(970)).toEqual([0, 500, 1000]);
  expect(valueMarks(0)).toEqual([0]);
  expect(linePath([1, null, 2, 2], 2).match(/M/g)).toHaveLength(2);
  expect(linePath([null], 0)).toBe('');
});

test('two hours of the same name, when clocks are put back, have their offsets', () => {
  const hours = ['2026-10-24T23:00:00.000Z', '2026-10-25T00:00:00.000Z', '2026-10-25T01:00:00.000Z'];
  const [one, two, again] = stepTexts(hours, 'Europe/Berlin');
  expect(one).not.toContain('GMT');
  expect(two).toMatch(/02:00:00|2:00:00/);
  expect(two).toMatch(/GMT\+2$/);
  expect(again).toMatch(/GMT\+1$/);
});

test('the axis has dates only when it spans more than a day', () => {
  const hour = (n: number): string => new Date(Date.UTC(2026, 10, 1, n)).toISOString();
  expect(axisTexts([hour(0), hour(1), hour(2)], 'UTC').join(' ')).not.toContain('Nov');
  expect(axisTexts([hour(0), hour(24)], 'UTC').every((text) => text.includes('Nov'))).toBe(true);
  expect(axisTexts([], 'UTC')).toEqual([]);
  expect(axisTexts(['never'], 'UTC')).toEqual(['unknown']);
});
