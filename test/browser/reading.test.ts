// Goal: what was said and done can be read without a click. Method: the places of the words on a
// page, in windows of two sizes, with pictures of them.
import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';
import { useDashboard } from './dashboard-rig.ts';
import { keepPicture } from './pictures.ts';

const SPARE = 'anthropic/claude-haiku-5-5';
const keys = [{ name: 'team', key: 'key-of-the-team' }];
const dashboard = useDashboard({
  file: { agents: { defaults: { fallbacks: [SPARE] } }, models: { providers: { anthropic: { keys } } } },
});
const CALLS = 12;

/** Windows, and within how many of their heights everything has to be. */
const WINDOWS = [
  { name: 'desktop', width: 1440, height: 900, screens: 1 },
  { name: 'phone', width: 390, height: 844, screens: 2 },
] as const;

async function turnOf(session: string, text: string): Promise<string> {
  const { rig } = dashboard;
  await rig.post(`/v1/sessions/${session}/messages`, { text });
  await rig.work(session);
  return (await rig.get(`/v1/turns?session=${session}`)).body.items[0].id;
}

/** Opens a page and finds these words on its first screens, in both windows and both themes. */
async function readsWithoutClick(name: string, path: string, words: () => Locator[]): Promise<void> {
  const { page, signIn, open, settle } = dashboard;
  await signIn();
  for (const { name: window, width, height, screens } of WINDOWS) {
    await page.setViewportSize({ width, height });
    await open(path);
    for (const each of words()) await each.first().waitFor();
    await settle();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await keepPicture(page, `${name}-${window}-${colorScheme}`);
    }
    // Text is drawn again as soon as its markdown is read: until then it may have no place.
    const endOf = async (each: Locator): Promise<number> => {
      const box = await each.first().boundingBox();
      return box === null ? Number.POSITIVE_INFINITY : box.y + box.height;
    };
    await expect
      .poll(async () => Math.max(...(await Promise.all(words().map(endOf)))), { message: window })
      .toBeLessThanOrEqual(screens * height);
  }
}

test('a turn that failed shows the question, the reason, and what to do next', async () => {
  const { page } = dashboard;
  const id = await turnOf('reading-failed', 'Please count the cats. [[error: 400 message="no cats today"]]');
  await readsWithoutClick('turn-failed', `/turns/${id}`, () => [
    page.getByText('Please count the cats.'),
    page.getByText('model_invalid_request'),
    page.getByText(/no cats today/),
    page.getByText(/What to do next/),
    page.getByRole('button', { name: 'Retry…' }),
    page.getByRole('button', { name: 'Retry on another model…' }),
  ]);
});

test('a turn that stepped down shows the model that answered, why it was asked, and its key', async () => {
  const { page } = dashboard;
  const text =
    'Count the mice. [[tool: echo {"say": "mice"}]] [[error: 402 message="no credit today"]] [[reply: Three.]]';
  const id = await turnOf('reading-fallback', text);
  await readsWithoutClick('turn-fallback', `/turns/${id}`, () => [
    page.getByText('Count the mice.'),
    page.getByText('Three.'),
    page.getByText(SPARE, { exact: true }),
    page.getByText('key team', { exact: true }),
    page.getByText(/The turn stepped down to this model\. model_billing: no credit today/),
  ]);
});

test('a conversation shows a turn that failed with its prompt, the reason, and what to do, also after the next one', async () => {
  const { page, signIn, open } = dashboard;
  const text = 'Count the dogs. [[tool: echo {"say": "dogs"}]] [[error: 400 message="no dogs today"]]';
  const id = await turnOf('reading-after', text);
  await signIn();
  await open('/sessions/reading-after');
  await page
    .getByRole('feed')
    .getByText(/no dogs today/)
    .first()
    .waitFor();
  await turnOf('reading-after', 'And the birds? [[reply: Two birds.]]');
  await open('/sessions/reading-after');
  await page.getByText('Two birds.', { exact: true }).waitFor();
  const failed = page.getByRole('article', { name: 'A turn that failed' });
  for (const words of [
    /Count the dogs\./,
    'its turn failed',
    'model_invalid_request',
    /no dogs today/,
    /What to do next/,
  ])
    await failed.getByText(words).first().waitFor();
  expect(await failed.getByRole('link', { name: /^turn / }).getAttribute('href')).toBe(`/turns/${id}`);
  const order = await page
    .getByRole('feed')
    .getByRole('article')
    .evaluateAll((all) => all.map((each) => each.dataset['kind']));
  expect(order).toEqual(['failed', 'prompt', 'answer']);
  await page.getByRole('checkbox', { name: /no longer sees/ }).check();
  await page.locator('[data-kind="prompt"]').getByText('hidden: its turn failed').waitFor();
  await failed.getByRole('button', { name: 'Retry…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Retry the turn' }).click();
  await page.getByText('1 message waits').waitFor();
});

/** A picture of one colour is smaller. */
const PICTURE_BYTES_MIN = 1_000;

test('a conversation with many tools is painted where it opens, on a phone', async () => {
  const { page, signIn, open, settle } = dashboard;
  await turnOf(
    'reading-calls',
    'Run the list. [[repeat: 40 tool echo {"say": "line $i"}]] [[reply: All lines are run.]]',
  );
  await turnOf('reading-calls', 'Thanks. [[thinking: Nothing is left.]] [[reply: You are welcome.]]');
  await signIn();
  await page.setViewportSize({ width: 390, height: 844 });
  await open('/sessions/reading-calls');
  await page.getByText('You are welcome.', { exact: true }).waitFor();
  await settle();
  const { x, y, width, height } = (await page.getByRole('feed').boundingBox())!;
  const bands = [0, 1, 2, 3].map((n) => ({ x, width, y: y + (n * height) / 4, height: height / 4 }));
  const sizes = await Promise.all(bands.map(async (clip) => (await page.screenshot({ clip })).length));
  expect(sizes.filter((size) => size < PICTURE_BYTES_MIN)).toEqual([]);
  expect(
    await page.getByRole('feed').evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight),
  ).toBeLessThan(2);
});

test('a turn with many tools shows the question, the answer, and each call with its result in one line', async () => {
  const { page } = dashboard;
  const says = Array.from({ length: CALLS }, (_, n) => `line ${n + 1}`);
  const tools = says.map((say) => `[[tool: echo {"say": "${say}"}]]`).join(' ');
  const id = await turnOf('reading-tools', `Say the lines. ${tools} [[reply: **All** lines are said.]]`);
  const line = (say: string) => page.locator('.tool-line summary', { hasText: new RegExp(`${say}\\b.*→.*${say}\\b`) });
  await readsWithoutClick('turn-tools', `/turns/${id}`, () => [
    page.getByText('Say the lines.'),
    page.getByText('lines are said.'),
    ...says.map(line),
  ]);
});

/** Reads the transcript from its end to its beginning, as a person who only scrolls. */
function readUp(): Promise<{ texts: string[]; height: number }> {
  return dashboard.page.evaluate(`(async () => {
    const feed = document.querySelector('[role=feed]');
    const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const texts = new Set();
    for (let still = 0; still < 3; still += feed.scrollTop === 0 ? 1 : 0) {
      for (const each of feed.querySelectorAll('.tool-line > summary, .words, .said')) texts.add(each.textContent);
      feed.scrollBy(0, -feed.clientHeight / 2);
      await drawn();
    }
    return { texts: [...texts], height: feed.scrollHeight };
  })()`);
}

test.each(WINDOWS)('a transcript with 40 calls is read on two screens without a click: $name', async (shown) => {
  const { page, signIn, open, settle } = dashboard;
  const { name, width, height } = shown;
  const says = Array.from({ length: 40 }, (_, n) => `line ${n + 1}`);
  const tools = '[[repeat: 40 tool echo {"say": "line $i"}]]';
  const session = `many-tools-${name}`;
  await turnOf(session, `Say the lines. ${tools} [[reply: **All** lines are said.]]`);
  await page.setViewportSize({ width, height });
  await signIn();
  await open(`/sessions/${session}`);
  await page.getByText('lines are said.').waitFor();
  await settle();
  await keepPicture(page, `transcript-tools-${name}`);
  const send = (await page.getByRole('button', { name: 'Send' }).boundingBox())!;
  expect(send.y + send.height).toBeLessThan(2 * height);
  const read = await readUp();
  const has = (words: RegExp) => read.texts.some((text) => words.test(text));
  const missing = says.filter((say) => !has(new RegExp(`echo${say} → .*${say}".*done`)));
  expect({ missing, question: has(/Say the lines/), answer: has(/All lines are said/) }).toEqual({
    missing: [],
    question: true,
    answer: true,
  });
  expect(read.height).toBeLessThanOrEqual(2 * height);
});
