// Goal: a transcript of any length is read without a jump. Method: the one of 5,000 entries,
// scrolled from end to end in the page, where each entry that was in view before a step is measured
// again after it; and a shorter one to which a real turn adds entries.
import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { withNewest } from '../../web/src/format/merge-entries.ts';
import { addEntries } from '../rows/entries.ts';
import { addSessions } from '../rows/sessions.ts';
import { now } from '../rows/table.ts';
import { addTurns } from '../rows/turns.ts';
import { violationsOn } from './axe.ts';
import { useDashboard } from './dashboard-rig.ts';
import { isFullForm } from '../servers/test-form.ts';
import { fillFixture, FIXTURE, LONG_SESSION } from './fixture/fixture-rows.ts';

const dashboard = useDashboard({ fill: fillFixture });
/** Entries in the document; the figure of docs/dashboard.md. */
const IN_DOCUMENT_MAX = 100;
/** Positions are rounded to whole pixels. */
const ROUNDING_PX = 2;

interface Walk {
  seen: string[];
  inDocumentMax: number;
  /** By how many pixels an entry moved more or less than the step. */
  jumpMax: number;
}

/**
 * Scrolls in steps of a part of the box until it has seen so many entries, or does not move any
 * more and nothing loads.
 */
function walk(part: number, { steps = 10_000, entriesMax = 10_000 } = {}): Promise<Walk> {
  return dashboard.page.evaluate<Walk>(`(async () => {
    const box = document.querySelector('[role=feed]');
    const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const entries = () => [...box.querySelectorAll('article')];
    const inView = () => {
      const { top, bottom } = box.getBoundingClientRect();
      return entries().filter((entry) => {
        const place = entry.getBoundingClientRect();
        return place.bottom > top && place.top < bottom;
      });
    };
    const places = () => new Map(inView().map((entry) => [entry.dataset.seq, entry.getBoundingClientRect().top]));
    const seen = new Set();
    let [inDocumentMax, jumpMax, still] = [0, 0, 0];
    for (let step = 0; step < ${steps} && seen.size < ${entriesMax} && still < 3; step += 1) {
      const before = places();
      for (const name of before.keys()) seen.add(name);
      const offset = box.scrollTop;
      box.scrollBy(0, box.clientHeight * ${part});
      const moved = box.scrollTop - offset;
      await drawn();
      for (const [name, top] of places())
        if (before.has(name)) jumpMax = Math.max(jumpMax, Math.abs(before.get(name) - moved - top));
      inDocumentMax = Math.max(inDocumentMax, entries().length);
      const isLoading = box.ariaBusy === 'true';
      still = moved === 0 && !isLoading ? still + 1 : 0;
    }
    return { seen: [...seen], inDocumentMax, jumpMax };
  })()`);
}

/** The full form scrolls to the first entry. */
const SCROLLED = isFullForm() ? FIXTURE.entries : 1_500;

test(`of ${FIXTURE.entries} entries ${SCROLLED} are scrolled through without a jump, with at most 100 in the document`, async () => {
  const { page, signIn, open, settle } = dashboard;
  await signIn();
  await open(`/sessions/${LONG_SESSION}`);
  await page.locator(`[data-seq="${FIXTURE.entries}"]`).waitFor();
  await settle();
  const { seen, inDocumentMax, jumpMax } = await walk(-0.9, { entriesMax: SCROLLED });
  expect(seen.length).toBeGreaterThanOrEqual(SCROLLED);
  expect(inDocumentMax).toBeLessThanOrEqual(IN_DOCUMENT_MAX);
  expect(jumpMax).toBeLessThanOrEqual(ROUNDING_PX);
});

test('the link of an entry loads the transcript up to it, and the keys continue from there', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open(`/sessions/${LONG_SESSION}?entry=4000`);
  const focused = async (): Promise<string | null> =>
    page.evaluate<string | null>('document.activeElement.dataset.seq');
  await expect.poll(focused).toBe('4000');
  await page.keyboard.press('j');
  await expect.poll(focused).toBe('4001');
  await page.keyboard.press('k');
  await page.keyboard.press('k');
  await expect.poll(focused).toBe('3999');
  const link = page.locator('[data-seq="3999"]').getByRole('link', { name: '#3999' });
  await link.click();
  expect(new URL(page.url()).searchParams.get('entry')).toContain('3999');
  await open(`/sessions/${LONG_SESSION}?entry=999999`);
  await page.getByText('Entry #999999 is not in this list').waitFor();
});

test('entries below a linked one, which were never shown, are scrolled to without a jump', async () => {
  const { page, signIn, open, settle } = dashboard;
  await signIn();
  await open(`/sessions/${LONG_SESSION}?entry=4000`);
  await page.locator('[data-seq="4000"]').waitFor();
  await settle();
  const { seen, jumpMax } = await walk(0.7, { steps: 60 });
  expect(seen.length).toBeGreaterThan(100);
  expect(jumpMax).toBeLessThanOrEqual(ROUNDING_PX);
});

test('what was opened in an entry is open again after the entry has left the document and returned', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open(`/sessions/${LONG_SESSION}`);
  const output = page.locator(`[data-seq="${FIXTURE.entries - 1}"]`);
  await output.locator('summary').click();
  await output.locator('pre').waitFor();
  const feed = page.getByRole('feed');
  await page.locator(`[data-seq="${FIXTURE.entries}"]`).focus();
  await feed.evaluate((box) => box.scrollBy(0, -4_000));
  await output.waitFor({ state: 'detached' });
  await feed.evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await output.locator('pre').waitFor();
});

/** A session with so many entries of a turn that has ended. */
async function fillSession(name: string, count: number): Promise<void> {
  const { rig } = dashboard;
  const [sessionId, turnId] = [newId<string>(), newId<string>()];
  await addSessions(rig, { id: sessionId, key: `agent:main:${name}`, entrySeq: count, leafSeq: count });
  await addTurns(rig, { id: turnId, sessionId, endedAt: now });
  const entries = Array.from({ length: count }, (_, index) => {
    const seq = index + 1;
    const who = seq % 2 === 1 ? { kind: 'prompt', role: 'user' } : { kind: 'answer', role: 'assistant' };
    const content = [{ type: 'text', text: `Entry ${seq}${' words'.repeat(1 + (seq % 60))}` }];
    return { sessionId, turnId, seq, parentSeq: index === 0 ? null : index, ...who, content };
  });
  await addEntries(rig, ...entries);
}

test('entries that arrive do not move the ones that are being read, and are followed at the end otherwise', async () => {
  const { page, signIn, open, settle, rig, requests } = dashboard;
  await fillSession('read', 200);
  await signIn();
  await open('/sessions/agent:main:read?entry=120');
  await page.getByText('Live', { exact: true }).waitFor();
  const read = page.locator('[data-seq="120"]');
  await read.waitFor();
  await settle();
  const before = await read.boundingBox();
  requests.length = 0;
  await rig.post('/v1/sessions/read/messages', { text: '[[reply: it has arrived]]' });
  await rig.work('read');
  const newest = page.getByRole('article').getByText('it has arrived', { exact: true });
  const lists = () => requests.filter(({ url }) => new URL(url).pathname.endsWith('/transcript'));
  await expect.poll(() => page.getByRole('feed').locator('[aria-setsize="202"]').count()).toBeGreaterThan(0);
  await settle();
  expect(await read.boundingBox()).toEqual(before);
  expect(await newest.count()).toBe(0);
  // Only the newest page was read again.
  expect(lists().map(({ url }) => new URL(url).searchParams.get('cursor'))).toEqual(lists().map(() => null));

  await page.getByRole('feed').evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await newest.waitFor();
  await rig.post('/v1/sessions/read/messages', { text: '[[reply: and another]]' });
  await rig.work('read');
  await page.getByRole('article').getByText('and another', { exact: true }).waitFor();
  const below = (): Promise<number> =>
    page.getByRole('feed').evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
  await expect.poll(below).toBeLessThanOrEqual(ROUNDING_PX);
});

test.each(['light', 'dark'] as const)('a transcript has no violation at 320 px: %s', async (colorScheme) => {
  const { page, signIn, open, settle } = dashboard;
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width: 320, height: 720 });
  await signIn();
  await open(`/sessions/${LONG_SESSION}?entry=4980`);
  await page.locator('[data-seq="4980"]').waitFor();
  await settle();
  expect(await violationsOn(page)).toEqual([]);
});

test('the newest page takes the place of what it covers, and says when it does not reach the other pages', () => {
  const page = (from: number, to: number) => ({
    items: Array.from({ length: from - to + 1 }, (_, n) => ({ seq: from - n })),
    nextCursor: to === 1 ? null : String(to),
  });
  const seqsOf = (items: { seq: number }[] | null) => items?.map(({ seq }) => seq);
  const pages = [page(10, 8), page(7, 5)];
  expect(seqsOf(withNewest(pages, page(12, 9)))).toEqual([12, 11, 10, 9, 8, 7, 6, 5]);
  // An entry that the model no longer sees is not listed any more.
  expect(seqsOf(withNewest(pages, { items: [{ seq: 11 }, { seq: 8 }], nextCursor: '8' }))).toEqual([11, 8, 7, 6, 5]);
  expect(withNewest(pages, page(20, 12))).toBeNull();
  // It was read before the pages were.
  expect(seqsOf(withNewest(pages, page(9, 7)))).toEqual([10, 9, 8, 7, 6, 5]);
  // After a reset or a compaction it is all that is left.
  expect(seqsOf(withNewest(pages, page(2, 1)))).toEqual([2, 1]);
  expect(withNewest(pages, { items: [], nextCursor: null })).toEqual([]);
});
