// The parts of an answer that are sent: reasoning and tags are removed from the reply and from its
// streamed text, and kept in the transcript.
import { expect, test } from 'vitest';
import { readDeliveries } from '../rows/deliveries.ts';
import { readEntries } from '../rows/entries.ts';
import { readEvents } from '../rows/events.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const settings = { reasoning: { enabled: true }, channels: { webhook: { url: 'http://127.0.0.1:9/hook' } } };
  rig = await createTurnRig(database.url, { settings });
  const made = rig;
  onEnd(() => made.close());
});

/**
 * Runs a turn; returns the payload of its delivery, null for none, and the text of its last entry.
 */
async function answer(name: string, text: string, kind: 'message' | 'heartbeat' = 'message') {
  const worker = rig.worker();
  await rig.send(name, text, { messageId: '42' }, kind);
  await worker.run(name);
  worker.stop();
  const session = [await rig.sessionOf(name)];
  const [delivery] = await readDeliveries(rig, { sessionId: session[0] }, 'payload');
  const entry = (await readEntries(rig, { sessionId: session[0] }, 'content')).at(-1);
  const [block] = (entry?.['content'] ?? []) as { text: string }[];
  return { payload: (delivery?.['payload'] ?? null) as Record<string, unknown> | null, said: block?.text };
}

test('only the text in <final> is sent, and the transcript keeps all of it', async () => {
  const said = '<think>Who is it?</think><final>Good morning.</final>';
  const { payload, said: kept } = await answer('reasoning', `[[reply: ${said}]]`);
  expect(payload).toMatchObject({ text: 'Good morning.' });
  expect(payload).not.toHaveProperty('replyToMessageId');
  expect(kept).toBe(said);
});

test('reasoning without a reply, or with the silent token as its reply, is silence', async () => {
  expect((await answer('thoughts', '[[reply: <think>Nothing to say.</think>]]')).payload).toBeNull();
  expect((await answer('silent', '[[reply: <think>x</think><final>NO_REPLY</final>]]')).payload).toBeNull();
});

test('a reply tag is removed, and the delivery names the message to which it refers', async () => {
  const { payload } = await answer('current', 'echo [[reply_to_current]] this');
  expect(payload).toMatchObject({ replyToMessageId: '42' });
  expect(payload?.['text']).not.toContain('[[');
  expect((await answer('other', 'echo [[ reply_to: 7 ]] this')).payload).toMatchObject({ replyToMessageId: '7' });
});

test('an acknowledged poll sends nothing, one that finds something sends it', async () => {
  const ack = `HEARTBEAT_OK ${'x'.repeat(300)}`;
  expect((await answer('calm', `[[reply: ${ack}]]`, 'heartbeat')).payload).toBeNull();
  const { payload } = await answer('alarm', `[[reply: ${ack}x]]`, 'heartbeat');
  expect(payload).toMatchObject({ text: 'x'.repeat(301) });
});

/** The texts of a turn's live events, in their order, and its reply. */
async function streamed(name: string, text: string, kind: 'message' | 'heartbeat' = 'message') {
  await answer(name, text, kind);
  const session = [await rig.sessionOf(name)];
  const events = await readEvents(rig, { sessionId: session[0], type: 'model.delta' }, 'text');
  const turn = (await readTurns(rig, { sessionId: session[0] }, 'reply')).at(-1);
  return { deltas: events.map((event) => String(event['text'])), reply: turn?.['reply'] ?? null };
}

test.each([
  ['reasoning is not shown', '<think>Who is it, and why so early?</think><final>Good morning to you.</final> Bye.'],
  ['a token at the end is not shown', '<final>All of it is done by now. NO_REPLY</final>'],
  ['silence is not shown', '<think>Nothing to do here.</think><final>NO_REPLY</final>'],
  ['an acknowledgement is not shown', '<final>HEARTBEAT_OK</final>'],
])('in the stream of a reply, %s', async (what, said) => {
  const { deltas, reply } = await streamed(what.replaceAll(' ', '-'), `[[slow: 15]] [[reply: ${said}]]`);
  expect(deltas.join('')).toBe(reply ?? '');
  expect(deltas.every((text) => text !== '')).toBe(true);
});

test('in the stream of a reply, its tag is not shown', async () => {
  const { deltas, reply } = await streamed('tagged', '<final>echo [[reply_to_current]] this</final>');
  expect(deltas.join('')).toBe(reply);
  expect(reply).toBe('echo this');
});

test('a poll is shown only when it reports something, and only once', async () => {
  const alert = '<final>The disk is full.</final>';
  expect(await streamed('polled', '[[reply: <final>HEARTBEAT_OK all calm</final>]]', 'heartbeat')).toEqual({
    deltas: [],
    reply: null,
  });
  expect(await streamed('polled', `[[reply: ${alert}]]`, 'heartbeat')).toMatchObject({ deltas: ['The disk is full.'] });
  expect(await streamed('polled', `[[reply: ${alert}]]`, 'heartbeat')).toMatchObject({
    deltas: ['The disk is full.'],
    reply: null,
  });
});
