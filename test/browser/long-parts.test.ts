// Goal: a part that is longer than what a page of the transcript contains is read to its end without a gap and without a repetition. Method: one
// whose first cut falls between the halves of a surrogate pair, read piece by piece.
import { expect, test } from 'vitest';
import { changeEntries } from '../rows/entries.ts';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();
const PART_CHARS = 16_384;
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
