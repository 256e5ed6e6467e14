// Goal: a part that is longer than what a page of the transcript contains is read to its end
// without a gap and without a repetition. Method: one whose first cut falls between the halves of a
// surrogate pair, read piece by piece.
import { expect, test } from 'vitest';
import { changeEntries } from '../rows/entries.ts';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();
const PART_CHARS = 16_384;
/** A GIF of one pixel, without its end. */
const PICTURE = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const TEXT = `${'x'.repeat(PART_CHARS - 1)}🎈${'0123456789'.repeat(40_000)}`;

test('the pieces of a text whose first cut falls on a surrogate pair are the whole text', async () => {
  const { page, rig, signIn, open } = dashboard;
  await rig.post('/v1/sessions/long/messages', { text: 'go [[reply: done]]' });
  await rig.work('long');
  await changeEntries(rig, { kind: 'answer' }, { content: JSON.stringify([{ type: 'text', text: TEXT }]) });
  await signIn();
  await open('/sessions/long');
  const entry = page.locator('[data-seq="2"]');
  const texts = entry.locator('pre');
  await entry.getByRole('button', { name: 'Raw' }).click();
  await texts.first().waitFor();
  expect(await texts.first().textContent()).toBe(TEXT.slice(0, PART_CHARS + 1));
  for (const piece of [1, 2]) {
    await entry.getByRole('button', { name: 'Show the rest' }).click();
    await texts.nth(piece).waitFor();
  }
  const more = entry.getByRole('button', { name: /^Show / });
  while ((await more.count()) > 0) await more.first().click();
  const shown = (await texts.allTextContents()).join('');
  expect(shown.length).toBe(TEXT.length);
  expect(shown === TEXT).toBe(true);
});

test('an image in a result, whose bytes the page of entries does not have, is there when the call is opened', async () => {
  const { page, rig, signIn, open } = dashboard;
  await rig.post('/v1/sessions/seen/messages', { text: 'go [[tool: echo {}]] [[reply: done]]' });
  await rig.work('seen');
  const [turn] = (await rig.get('/v1/turns?session=seen')).body.items;
  const call = turn.steps[0].tools[0].callId;
  // A browser reads the picture and skips what follows it.
  const data = PICTURE.padEnd(2 * PART_CHARS, 'A');
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/gif', data } };
  const result = { type: 'tool_result', tool_use_id: call, content: [{ type: 'text', text: 'a picture' }, image] };
  await changeEntries(rig, { turnId: turn.id, kind: 'results' }, { content: JSON.stringify([result]) });
  await signIn();
  await open('/sessions/seen');
  await page.locator('.tool-line summary').click();
  const picture = page.getByRole('img', { name: 'From the transcript' });
  await expect
    .poll(() => picture.evaluate((shown) => (shown as unknown as { naturalWidth: number }).naturalWidth))
    .toBe(1);
});
