// The timeline of a turn: a range of it by the pointer, by the keyboard and from the outline, which
// the URL keeps; and folded idle time.
import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { foldedAxis, within } from '../../web/src/format/folded-axis.ts';
import { addModelCalls, addToolCalls } from '../rows/calls.ts';
import { addSessions } from '../rows/sessions.ts';
import { addSubagentRuns } from '../rows/subagents.ts';
import { Expression } from '../rows/table.ts';
import { addTurns, readTurns } from '../rows/turns.ts';
import { violationsOn } from './axe.ts';
import { useDashboard } from './dashboard-rig.ts';
import { fillFixture, FIXTURE, LONG_TURN_ID } from './fixture/fixture-rows.ts';

const dashboard = useDashboard({ fill: fillFixture });

/** The range in the address, in milliseconds after the beginning of the turn; null: all of it. */
function rangeInUrl(): { from: number; to: number } | null {
  const search = new URL(dashboard.page.url()).searchParams;
  const [from, to] = [search.get('from'), search.get('to')].map((text) => text?.replaceAll('"', ''));
  return from === undefined || to === undefined ? null : { from: Number(from), to: Number(to) };
}

/** How many spans the timeline says that it shows. */
async function shownSpans(): Promise<number> {
  const text = await dashboard.page.getByRole('region', { name: 'Timeline' }).getByRole('status').textContent();
  return Number(/^[\d,]+/.exec(text ?? '')?.[0].replaceAll(',', ''));
}

/** Draws a range on the strip, from one part of it to another. */
async function drag(from: number, to: number): Promise<void> {
  const { page } = dashboard;
  const { x, y, width, height } = (await page.locator('.timeline-strip svg').boundingBox())!;
  await page.mouse.move(x + from * width, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + ((from + to) / 2) * width, y + height / 2);
  await page.mouse.move(x + to * width, y + height / 2);
  await page.mouse.up();
}

test('a range is drawn with the pointer, is in the URL, and Back leads to the range before', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open(`/turns/${LONG_TURN_ID}?tab=timeline`);
  const spans = page.getByRole('list', { name: 'Spans' });
  await spans.getByRole('listitem').first().waitFor();
  const all = await shownSpans();
  expect(all).toBeGreaterThanOrEqual(2 * FIXTURE.steps);
  await drag(0.5, 0.6);
  await expect.poll(rangeInUrl).not.toBeNull();
  const some = await shownSpans();
  expect(some).toBeGreaterThan(0.08 * all);
  expect(some).toBeLessThan(0.12 * all);
  const first = rangeInUrl();
  await drag(0.5, 0.51);
  await expect.poll(shownSpans).toBeLessThan(0.02 * all);
  await page.goBack();
  await expect.poll(rangeInUrl).toEqual(first);
  await page.goBack();
  await expect.poll(rangeInUrl).toBeNull();
  await expect.poll(shownSpans).toBe(all);
  // A click is no range.
  await drag(0.3, 0.3);
  expect(rangeInUrl()).toBeNull();
});

test('a range is chosen by keyboard alone, the table has the same spans, and Show all ends it', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open(`/turns/${LONG_TURN_ID}`);
  const range = page.getByRole('group', { name: 'Range of the timeline' });
  await range.getByLabel('To').focus();
  await page.keyboard.press('Home');
  // An empty range is refused.
  expect(rangeInUrl()).toBeNull();
  for (let n = 0; n < 9; n += 1) await page.keyboard.press('PageDown');
  await expect.poll(rangeInUrl).not.toBeNull();
  expect(await range.getByLabel('To').getAttribute('aria-valuetext')).toMatch(/^\d+ (?:s|min) after the beginning$/);
  await range.getByLabel('From').focus();
  for (let n = 0; n < 5; n += 1) await page.keyboard.press('ArrowRight');
  await expect.poll(() => rangeInUrl()?.from).toBeGreaterThan(0);
  const shown = await shownSpans();
  const timeline = page.getByRole('region', { name: 'Timeline' });
  await timeline.getByRole('button', { name: 'Table' }).click();
  const more = timeline.getByRole('button', { name: 'Show more' });
  while ((await more.count()) > 0) await more.click();
  expect(await timeline.locator('tbody tr').count()).toBe(shown);
  await range.getByRole('button', { name: 'Show all' }).click();
  await expect.poll(rangeInUrl).toBeNull();
});

test('the sliders move by keyboard in a turn of a fifth of a second', async () => {
  const { page, signIn, open } = dashboard;
  const id = await turnWithCalls({ whole: '200 milliseconds', apart: '100 milliseconds', each: '90 milliseconds' });
  await signIn();
  await open(`/turns/${id}`);
  const range = page.getByRole('group', { name: 'Range of the timeline' });
  const from = range.getByLabel('From');
  await from.focus();
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => from.inputValue()).toBe('1');
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => from.inputValue()).toBe('2');
  expect(rangeInUrl()!.from).toBeLessThan(1);
});

test('a step of the outline shows its part of the timeline', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open(`/turns/${LONG_TURN_ID}`);
  await page.getByText(`Outline: ${FIXTURE.steps.toLocaleString('en')} steps`).click();
  const outline = page.getByRole('list', { name: 'Outline' });
  expect(await outline.getByRole('listitem').count()).toBe(100);
  await outline.getByRole('link', { name: 'Step 7', exact: true }).click();
  const spans = page.getByRole('list', { name: 'Spans' });
  await expect.poll(() => spans.getByRole('listitem').count()).toBeLessThan(6);
  await spans.getByText('model.call 7', { exact: true }).waitFor();
  expect(await outline.locator('[aria-current=page]').textContent()).toBe('Step 7');
});

/** A turn that began five hours ago and lasted so long, with two calls that begin so far apart. */
async function turnWithCalls({ whole, apart, each }: Record<'whole' | 'apart' | 'each', string>): Promise<string> {
  const { rig } = dashboard;
  const [sessionId, id] = [newId<string>(), newId<string>()];
  const beginsAt = new Date(Date.now() - 5 * 3_600_000);
  const at = (...spans: string[]) =>
    new Expression(() =>
      [`'${beginsAt.toISOString()}'::timestamptz`, ...spans.map((span) => `interval '${span}'`)].join(' + '),
    );
  await addSessions(rig, { id: sessionId, key: `agent:main:idle-${sessionId}` });
  const begun = { queuedAt: beginsAt, claimedAt: beginsAt, startedAt: beginsAt };
  await addTurns(rig, { id, sessionId, steps: 2, ...begun, endedAt: at(whole) });
  const call = { turnId: id, epoch: 1, untilSeq: 1, status: 'ok' };
  await addModelCalls(rig, { ...call, callNo: 1, step: 1, startedAt: beginsAt, endedAt: at(each) });
  await addModelCalls(rig, { ...call, callNo: 2, step: 2, startedAt: at(apart), endedAt: at(apart, each) });
  return id;
}

test('idle time is folded, with its length on the axis and in words', async () => {
  const { page, signIn, open } = dashboard;
  const id = await turnWithCalls({ whole: '5 hours', apart: '4 hours', each: '9 minutes' });
  await signIn();
  await open(`/turns/${id}`);
  await page.getByText('// 4 h //', { exact: true }).waitFor();
  await page.getByText('idle time folded: 4 h').waitFor();
});

test('subagents stand on the timeline of the turn that spawned them, with their spans below them and their cost', async () => {
  const { rig, page, signIn, open } = dashboard;
  const id = await turnWithCalls({ whole: '20 seconds', apart: '10 seconds', each: '2 seconds' });
  const [turn] = await readTurns(rig, { id }, 'sessionId', 'startedAt');
  const { sessionId: parentId, startedAt } = turn!;
  const after = (ms: number): Date => new Date(startedAt.getTime() + ms);
  await addToolCalls(rig, {
    turnId: id,
    step: 1,
    ordinal: 1,
    callId: 'spawn',
    name: 'sessions_spawn',
    status: 'done',
    epoch: 1,
    isIdempotent: true,
    intentAt: after(2_500),
    endedAt: after(2_600),
  });
  const [childId, childTurn] = [newId<string>(), newId<string>()];
  await addSessions(rig, { id: childId, key: `agent:main:subagent:${childId}`, kind: 'subagent', parentId });
  const run = { id: newId<string>(), parentId, childId, rootId: parentId, depth: 1, status: 'ok' };
  await addSubagentRuns(rig, {
    ...run,
    label: 'Read the <b>docs</b>',
    task: 'x',
    createdAt: after(2_550),
    endedAt: after(9_000),
  });
  const begun = { queuedAt: after(2_600), claimedAt: after(2_700), startedAt: after(2_800), endedAt: after(8_900) };
  await addTurns(rig, { id: childTurn, sessionId: childId, steps: 1, costMicros: 42_000, ...begun });
  const call = { turnId: childTurn, callNo: 1, step: 1, epoch: 1, untilSeq: 1, status: 'ok' };
  await addModelCalls(rig, { ...call, startedAt: after(3_000), endedAt: after(8_000), costMicros: 42_000 });

  await signIn();
  await open(`/turns/${id}?tab=timeline`);
  await page.getByText('1 turn of subagents').waitFor();
  const rows = page.getByRole('list', { name: 'Spans' }).getByRole('listitem');
  const below = page.getByRole('button', { name: 'Spans of Read the <b>docs</b>' });
  const names = async () =>
    (await rows.allTextContents()).map((text) => /model\.call \d|Read the <b>docs<\/b>/.exec(text)?.[0]);
  expect((await names()).filter((name) => name !== undefined)).toEqual([
    'model.call 1',
    'Read the <b>docs</b>',
    'model.call 1',
    'model.call 2',
  ]);
  await rows.filter({ hasText: 'Read the' }).getByText('$0.04').waitFor();
  const opened = await rows.count();
  await below.click();
  await expect.poll(() => rows.count()).toBeLessThan(opened);
  expect(await below.getAttribute('aria-expanded')).toBe('false');
  expect(await violationsOn(page)).toEqual([]);
  await page.getByRole('link', { name: 'Read the <b>docs</b>' }).click();
  await expect.poll(() => new URL(page.url()).pathname).toBe(`/turns/${childTurn}`);
});

test('at 320 px the bar of a row is below its name, and rows do not overlap', async () => {
  const { page, signIn, open, settle } = dashboard;
  await page.setViewportSize({ width: 320, height: 720 });
  await signIn();
  await open(`/turns/${LONG_TURN_ID}`);
  await settle();
  const rows = page.getByRole('list', { name: 'Spans' }).getByRole('listitem');
  const boxes = await Promise.all([0, 1, 2].map((n) => rows.nth(n).boundingBox()));
  const tops = boxes.map((box) => box?.y ?? 0);
  const bottoms = boxes.map((box) => (box?.y ?? 0) + (box?.height ?? 0));
  expect(boxes[0]?.height).toBeGreaterThan(35);
  expect(tops[1]).toBeGreaterThanOrEqual(bottoms[0]! - 1);
  expect(tops[2]).toBeGreaterThanOrEqual(bottoms[1]! - 1);
});

test.each(['light', 'dark'] as const)('a timeline with a range has no violation at 320 px: %s', async (colorScheme) => {
  const { page, signIn, open, settle } = dashboard;
  const id = await turnWithCalls({ whole: '5 hours', apart: '4 hours', each: '9 minutes' });
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width: 320, height: 720 });
  await signIn();
  for (const path of [`/turns/${LONG_TURN_ID}?from=60000&to=120000`, `/turns/${id}`]) {
    await open(path);
    await page.getByText(/^Outline/).click();
    await settle();
    expect(await violationsOn(page)).toEqual([]);
    expect(
      await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
    ).toBe(0);
  }
});

test('each place of a folded axis has one time, also in a fold', () => {
  const axis = foldedAxis([
    { startMs: 0, endMs: 100 },
    { startMs: 1_000, endMs: 1_050 },
    { startMs: 5_000, endMs: 5_200 },
  ]);
  expect(axis.folds.map(({ lengthMs }) => lengthMs)).toEqual([900, 3_950]);
  for (let place = 0; place <= 1; place += 0.01) expect(axis.at(axis.timeAt(place))).toBeCloseTo(place, 9);
  for (const timeMs of [0, 50, 100, 400, 1_000, 1_020, 3_000, 5_000, 5_200])
    expect(axis.timeAt(axis.at(timeMs))).toBeCloseTo(timeMs, 6);
  expect(within({ startMs: 0, endMs: 10 }, { startMs: 5, endMs: 20 })).toEqual({ startMs: 5, endMs: 10 });
  expect(within({ startMs: 0, endMs: 4 }, { startMs: 5, endMs: 20 })).toBeNull();
});
