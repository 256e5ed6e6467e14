// The dashboard of a service with many rows: what it transfers, how many rows and elements it puts
// into the document, and that nothing moves while it loads. None of these figures depends on how
// fast the machine is; `npm run bench -- --only p` measures the times.
import { expect, test } from 'vitest';
import { useDashboard } from './dashboard-rig.ts';
import { fillFixture, FIXTURE, LONG_SESSION, LONG_TURN_ID } from './fixture/fixture-rows.ts';
import { ROUTES, SCREEN_TABLE } from './fixture/screen-table.ts';
import { elementsOf, watchFigures } from './page-figures.ts';

const dashboard = useDashboard({ fill: fillFixture });
const SHIFT_MAX = 0.05;
const ELEMENTS_MAX = 5_000;
const ROWS_MAX = 80;
const SESSION_BYTES_MAX = 300_000;
const PART_CHARS = 16_384;
const SCROLLED = 10_000;

test('every path of the router has a row in the table of screens', () => {
  expect(SCREEN_TABLE.map(({ route }) => route).toSorted()).toEqual([...ROUTES].toSorted());
});

test.each([1280, 320])(
  'at %i px no screen moves its content while it loads, and none has more than 5,000 elements',
  async (width) => {
    const { page, signIn, open, settle } = dashboard;
    await page.setViewportSize({ width, height: 800 });
    await signIn();
    const figures = await watchFigures(page);
    const faults: string[] = [];
    for (const path of SCREEN_TABLE.flatMap(({ full }) => full)) {
      await open(path);
      await settle();
      const shift = await figures.layoutShift();
      if (shift > SHIFT_MAX) faults.push(`${path} has moved by ${shift.toFixed(3)}`);
      const elements = await elementsOf(page);
      if (elements > ELEMENTS_MAX) faults.push(`${path} has ${elements} elements`);
    }
    expect(faults).toEqual([]);
  },
);

test('a session of 5,000 entries transfers at most 300 kB, and of an output of 20 MB only the beginning until more is asked for', async () => {
  const { page, signIn, open, settle, requests } = dashboard;
  await signIn();
  const figures = await watchFigures(page);
  await open(`/sessions/${LONG_SESSION}`);
  const output = page.locator(`[data-seq="${FIXTURE.entries - 1}"]`);
  await output.waitFor();
  await settle();
  expect(figures.bytes()).toBeLessThan(SESSION_BYTES_MAX);

  // The page also asks for what it shows beside the session, at intervals.
  const pieces = () => requests.filter(({ url }) => url.includes('/parts/')).map(({ url }) => new URL(url).search);
  await output.locator('summary').click();
  expect((await output.locator('pre').textContent())?.length).toBe(PART_CHARS);
  expect(pieces()).toEqual([]);
  await output.getByRole('button', { name: 'Show the rest' }).click();
  await output.locator('pre').nth(1).waitFor();
  expect(pieces()).toEqual([`?offset=${PART_CHARS}&length=262144`]);
});

test(`${SCROLLED} turns are scrolled through with at most 80 rows in the document`, async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open('/turns?status=completed');
  const body = page.locator('.table-body');
  await page.locator('[role=row][data-index="0"]').waitFor();
  for (let last = 99; last < SCROLLED; last += 100) {
    await body.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
    await page.locator(`[role=row][data-index="${last + 1}"]`).waitFor({ state: 'attached' });
    expect(await page.locator('[role=row]').count()).toBeLessThanOrEqual(ROWS_MAX);
  }
});

test('the timeline of 1,000 steps needs one request for the turn and at most 100 rows in the document', async () => {
  const { page, signIn, open, settle, requests } = dashboard;
  await signIn();
  await open(`/turns/${LONG_TURN_ID}`);
  await settle();
  expect(requests.filter(({ url }) => new URL(url).pathname === `/v1/turns/${LONG_TURN_ID}`)).toHaveLength(1);
  const spans = page.getByRole('list', { name: 'Spans' });
  expect(await spans.getByRole('listitem').count()).toBeLessThanOrEqual(100);
  await spans.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
  await spans.getByText(`model.call ${FIXTURE.steps}`, { exact: true }).waitFor();
  expect(await spans.getByRole('listitem').count()).toBeLessThanOrEqual(100);
});
