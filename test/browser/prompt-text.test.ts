// Goal: a reader of a transcript sees what a person said, and opens what Holdfast put around it.
// Method: a prompt that a real turn assembled from media, a thread, system events and metadata.
import { expect, test } from 'vitest';
import { promptPieces } from '../../web/src/format/prompt-text.ts';
import { violationsOn } from './axe.ts';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();

const MESSAGE = {
  text: 'Is order 42 out?',
  chatType: 'group',
  chatId: 'room-1',
  sender: { id: '7', name: 'Ada' },
  thread: { id: '5', starterBody: 'The parcel is late.' },
  media: [{ path: '/tmp/parcel.pdf', type: 'application/pdf' }],
};

test('what was put around the words of a prompt is a chip in its place, which opens by the keyboard', async () => {
  const { rig, page, signIn, open } = dashboard;
  for (const text of ['the door is open', 'the light is on', 'the key is lost'])
    await rig.post('/v1/sessions/chips/system-events', { text });
  await rig.post('/v1/sessions/chips/messages', MESSAGE);
  await rig.work('chips');
  await signIn();
  await open('/sessions/chips');
  const prompt = page.locator('[data-seq="1"]');
  const chips = prompt.locator('summary');
  await chips.first().waitFor();
  expect(await chips.allTextContents()).toEqual([
    'media, untrusted',
    'thread, untrusted',
    '3 system events',
    'message metadata, untrusted',
    'sender metadata, untrusted',
  ]);
  expect(await prompt.locator('.said').allTextContents()).toEqual([MESSAGE.text]);
  await chips.nth(2).focus();
  await page.keyboard.press('Enter');
  const events = prompt.locator('details[open] pre');
  expect(await events.textContent()).toMatch(
    /^System: .* the door is open\nSystem: .* the light is on\nSystem: .*lost$/,
  );
  expect(await violationsOn(page)).toEqual([]);
});

const PART = { origin: 'channel', trust: 'untrusted' } as const;
const CONTEXT = 'Sender (untrusted metadata):\n{}';
const SAID = '```\nlook';
const WHOLE = `${CONTEXT}\n\n${SAID}\n\`\`\`\n\nlater`;
const PARTS = [
  { ...PART, name: 'context', start: 0, end: CONTEXT.length },
  { ...PART, name: 'body', start: CONTEXT.length + 2, end: CONTEXT.length + 2 + SAID.length },
  { ...PART, name: 'untrusted-context', start: WHOLE.length - 5, end: WHOLE.length },
];

test('a stretch of a prompt has the parts that it reaches into, and a fence that was closed stays closed', () => {
  const shown = (offset: number, end?: number) =>
    promptPieces(WHOLE.slice(offset, end), PARTS, offset).map(({ label, text }) => [label, text]);
  expect(shown(0)).toEqual([
    ['sender metadata', CONTEXT],
    [null, `${SAID}\n\`\`\``],
    ['channel context', 'later'],
  ]);
  expect(shown(0, 10)).toEqual([['sender metadata', CONTEXT.slice(0, 10)]]);
  expect(shown(CONTEXT.length + 5, -5)).toEqual([[null, `\`${SAID.slice(3)}\n\`\`\`\n\n`.slice(1)]]);
  expect(shown(WHOLE.length - 2)).toEqual([['channel context', 'er']]);
  expect(promptPieces(WHOLE, null)).toEqual([{ label: null, isTrusted: false, text: WHOLE }]);
});
