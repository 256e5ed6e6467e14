// (p) How fast the dashboard shows a service with many rows, in headless Chromium: absolute times,
// which another load of the machine makes longer. What does not depend on time is held by the
// browser tests (test/browser/weight.test.ts).
import type { Page } from 'playwright-core';
import { migrate } from '../../src/database/migrate.ts';
import { fillFixture, FIXTURE, LONG_SESSION, LONG_TURN_ID } from '../../test/browser/fixture/fixture-rows.ts';
import { SCREEN_TABLE } from '../../test/browser/fixture/screen-table.ts';
import { migrateQueue } from '../../workers/queue/migrate-queue.ts';
import { withConnection } from '../rig/ask-database.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { openBenchBrowser, openedMs, timesOf, type BenchBrowser, type PageTimes } from '../rig/bench-browser.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import { benchApiKey } from '../rig/bench-service.ts';
import { median } from '../rig/statistics.ts';
import { withProcess } from '../rig/with-process.ts';

export const dashboard: BenchPart = { letter: 'p', title: 'the dashboard of a service with many rows', run };

/** The CPU slowdown that corresponds to a slow device. */
const slowdown = 4;
const scrollMs = 5_000;
const scrollPx = 150;
const bars = {
  sessionMs: 1_000,
  outputMs: 300,
  taskMs: 100,
  timelineMs: 1_000,
  paintMs: 1_500,
  shift: 0.05,
  inputMs: 200,
};

async function run(context: BenchContext): Promise<BarLine[]> {
  const databaseUrl = await context.place.createDatabase('holdfast_dashboard');
  await migrate(databaseUrl);
  await migrateQueue(databaseUrl);
  await withConnection(databaseUrl, (client) => fillFixture((text, values) => client.query(text, values)));
  // The other roles would work on the rows.
  return await withProcess({ databaseUrl, roles: 'api' }, async ({ url }) => {
    const browser = await openBenchBrowser({ url, apiKey: benchApiKey });
    try {
      const rounds = context.isQuick ? 3 : 9;
      return [
        ...(await measureSession(browser, rounds)),
        await measureTimeline(browser, rounds),
        await measureScrolling(context, browser),
        ...(await measureScreens(context, browser)),
      ];
    } finally {
      await browser.close();
    }
  });
}

async function measureSession(browser: BenchBrowser, rounds: number): Promise<BarLine[]> {
  const [painted, opened]: number[][] = [[], []];
  const page = await browser.openPage();
  const output = `[data-seq="${FIXTURE.entries - 1}"]`;
  for (let round = 0; round < rounds; round += 1) {
    painted!.push(await openedMs(page, `/sessions/${LONG_SESSION}`, output));
    opened!.push(
      await page.evaluate<number>(`new Promise((shown) => {
        const details = document.querySelector('${output} details');
        const begin = performance.now();
        details.querySelector('summary').click();
        requestAnimationFrame(() => setTimeout(() => shown(performance.now() - begin)));
      })`),
    );
  }
  await page.context().close();
  return [
    timeLine(`a session of ${FIXTURE.entries} entries is painted, median`, median(painted!), bars.sessionMs),
    timeLine('the beginning of an output of 20 MB is shown, median', median(opened!), bars.outputMs),
  ];
}

async function measureTimeline(browser: BenchBrowser, rounds: number): Promise<BarLine> {
  const page = await browser.openPage();
  const painted: number[] = [];
  for (let round = 0; round < rounds; round += 1)
    painted.push(await openedMs(page, `/turns/${LONG_TURN_ID}`, '.waterfall-row'));
  await page.context().close();
  return timeLine(`a timeline of ${FIXTURE.steps} steps is painted, median`, median(painted), bars.timelineMs);
}

/** Scrolls through the turns without a pause, as far as it gets. */
async function measureScrolling(context: BenchContext, browser: BenchBrowser): Promise<BarLine> {
  const page = await browser.openPage(slowdown);
  await openedMs(page, '/turns?status=completed', '[data-index="0"]');
  const { rows, last, task } = await page.evaluate<{
    rows: number;
    last: number;
    task: number;
  }>(`new Promise((done) => {
    const body = document.querySelector('.table-body');
    const begin = performance.now();
    let rows = 0;
    times.longestTaskMs = 0;
    const step = () => {
      body.scrollBy(0, ${scrollPx});
      const shown = body.querySelectorAll('[role=row]');
      rows = Math.max(rows, shown.length);
      if (performance.now() - begin < ${scrollMs}) return requestAnimationFrame(step);
      done({ rows, last: Number([...shown].at(-1).dataset.index), task: times.longestTaskMs });
    };
    step();
  })`);
  await page.context().close();
  context.say(`${scrollMs / 1000} s of scrolling came to turn ${last}, with at most ${rows} rows in the document`);
  return timeLine(`scrolling turns for 5 s, ${slowdown}x slower: the longest task`, task, bars.taskMs);
}

async function measureScreens(context: BenchContext, browser: BenchBrowser): Promise<BarLine[]> {
  const found: (PageTimes & { path: string })[] = [];
  for (const path of SCREEN_TABLE.flatMap(({ full }) => full)) {
    const page = await browser.openPage(slowdown);
    // The second visit: the files are in the browser's cache.
    for (const visit of ['first', 'second']) {
      await page.goto(path);
      await page.locator('main h1').first().waitFor();
      await page.waitForLoadState('load');
      if (visit === 'second') await useScreen(page);
    }
    found.push({ path, ...(await timesOf(page)) });
    await page.context().close();
  }
  for (const { path, largestPaintMs, shift, longestInputMs } of found)
    context.say(
      `${path}: painted ${largestPaintMs.toFixed(0)} ms, shift ${shift.toFixed(3)}, input ${longestInputMs} ms`,
    );
  const worst = (valueOf: (times: PageTimes) => number): number => Math.max(...found.map(valueOf));
  const of = `of ${found.length} screens, ${slowdown}x slower, the worst`;
  return [
    timeLine(
      `largest paint ${of}`,
      worst((times) => times.largestPaintMs),
      bars.paintMs,
    ),
    {
      ...timeLine(
        `layout shift ${of}`,
        worst((times) => times.shift),
        bars.shift,
      ),
      unit: '',
    },
    timeLine(
      `from an input to its frame ${of}`,
      worst((times) => times.longestInputMs),
      bars.inputMs,
    ),
  ];
}

/** Some inputs that every screen has: keys, the help, and the first buttons of the header. */
async function useScreen(page: Page): Promise<void> {
  await page.locator('main h1').first().click();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).getByRole('button', { name: 'Close' }).click();
  for (let tabs = 0; tabs < 8; tabs += 1) await page.keyboard.press('Tab');
  await page.getByRole('combobox', { name: 'Time zone' }).press('ArrowDown');
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  // The times of the last input are known after its frame.
  await page.evaluate('new Promise((shown) => requestAnimationFrame(() => setTimeout(shown, 100)))');
}

function timeLine(what: string, measured: number, bar: number): BarLine {
  return {
    part: 'p',
    what,
    floor: '',
    holdfast: formatNumber(measured),
    measured,
    unit: ' ms',
    bar,
    sense: 'atMost',
  };
}
