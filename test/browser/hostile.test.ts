// The corpus of hostile texts on every screen: none of it runs, asks another host or breaks the
// layout, and every screen still answers. A request to another origin and a violation of the
// Content-Security-Policy fail every test (dashboard-rig.ts).
import { describe, expect, test } from 'vitest';
import { useDashboard } from './dashboard-rig.ts';
import { DEEP_TEXTS, ENTITY_TEXTS, HOSTILE_TEXTS, RAN } from './fixture/hostile-corpus.ts';
import { fillHostileRows, HOSTILE_SESSION } from './fixture/hostile-rows.ts';
import { SCREEN_TABLE } from './fixture/screen-table.ts';
import { overflowOf } from './page-figures.ts';
import { SEEDED_CHANNELS } from './seed-screens.ts';

const dashboard = useDashboard({ fill: fillHostileRows, file: { channels: SEEDED_CHANNELS } });

/** Elements that a text could become if it were read as a page. */
const FOREIGN = 'main :is(script, img, iframe, object, embed, style, link, form[action], a[href^="javascript" i])';

/**
 * Texts of the page with characters that change the direction of others, have no width or control a
 * terminal.
 */
const UNSEEN = `(() => {
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode())
    if (/[\\u001b\\u061c\\u200b\\u2060\\u2066-\\u2069\\u202a-\\u202e\\ufeff]/.test(walker.currentNode.data))
      found.push(walker.currentNode.parentElement.outerHTML.slice(0, 120));
  return found;
})()`;

describe.each([1280, 320])('hostile texts on a page of %i px', (width) => {
  test('do not run, do not become elements, and do not make a page wider than its window', async () => {
    const { page, signIn, open, settle } = dashboard;
    await signIn();
    await page.setViewportSize({ width, height: 720 });
    const faults: string[] = [];
    for (const path of SCREEN_TABLE.flatMap(({ hostile }) => hostile)) {
      await open(path);
      await settle();
      await page.locator('main details').evaluateAll((all) => all.forEach((each) => each.setAttribute('open', '')));
      if (await page.evaluate<boolean>(`'${RAN}' in globalThis`)) faults.push(`${path}: a script has run`);
      const elements = await page.locator(FOREIGN).count();
      if (elements > 0) faults.push(`${path}: a text has become ${elements} elements`);
      const unseen = await page.evaluate<string[]>(UNSEEN);
      faults.push(...unseen.map((text) => `${path}: unmarked characters in ${text}`));
      const overflow = await overflowOf(page);
      if (overflow > 0) faults.push(`${path}: the page is ${overflow} px too wide`);
      const problems = await page.getByRole('alert').allTextContents();
      faults.push(...problems.map((problem) => `${path}: ${problem}`));
      // The page answers: its help opens by a key and closes.
      await page.locator('main h1').first().click();
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys' }).getByRole('button', { name: 'Close' }).click();
    }
    expect(faults).toEqual([]);
  });
});

test('each text of the corpus is shown in the transcript as it was written', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open(`/sessions/${HOSTILE_SESSION}?entry=1`);
  const first = page.locator('[data-seq="1"]');
  await first.waitFor();
  // Marks stand in its line.
  expect(await first.locator('.words > p').count()).toBe(1);
  expect(await first.locator('.words').textContent()).toBe(`<script>globalThis.${RAN} = true</script>`);
  await open(`/sessions/${HOSTILE_SESSION}?entry=10`);
  const line = page.locator('[data-seq="10"]');
  expect(await line.getByRole('button', { name: 'Show the rest' }).textContent()).toContain('983.6k');
  // Their nesting would end the page.
  for (const deep of DEEP_TEXTS) {
    const seq = HOSTILE_TEXTS.indexOf(deep) + 1;
    await open(`/sessions/${HOSTILE_SESSION}?entry=${seq}`);
    const shown = page.locator(`[data-seq="${seq}"] pre`);
    await expect.poll(async () => (await shown.textContent())?.trim()).toBe(deep);
  }
});

test('character references are characters, and do not turn off the markdown of their text', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  for (const { text, shown } of ENTITY_TEXTS) {
    const seq = HOSTILE_TEXTS.indexOf(text) + 1;
    await open(`/sessions/${HOSTILE_SESSION}?entry=${seq}`);
    const words = page.locator(`[data-seq="${seq}"] .words`);
    await words.locator('strong').waitFor();
    expect(await words.textContent()).toBe(shown);
  }
});

test('a text whose markdown cannot be made is shown as it was written', async () => {
  const { url, context, signIn } = dashboard;
  await signIn();
  // In a page that is not watched for errors: the parser is a file without it.
  const page = await context.newPage();
  await page.route(/\/markdown-[^/]*\.js$/, (route) =>
    route.fulfill({ contentType: 'text/javascript', body: 'export {}' }),
  );
  await page.goto(`${url}/sessions/${HOSTILE_SESSION}?entry=1`);
  await expect
    .poll(() => page.locator('[data-seq="1"] pre').textContent())
    .toBe(`<script>globalThis.${RAN} = true</script>`);
});
