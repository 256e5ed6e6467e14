// Goal: no crash of a relay loses a part, or sends one twice where that was not allowed (G21).
// Method: a relay is killed before and after each of its round trips to the database while it sends
// an answer of three parts; another relay sends the rest.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDeadLetters } from '../../rows/dead-letters.ts';
import { readDeliveries } from '../../rows/deliveries.ts';
import { createSendingRig, killedAt, type SendingRig } from './sending-rig.ts';
import { TEXT_CHARS_MAX } from './loopback-platform.ts';

let rig: SendingRig;
beforeAll(async () => {
  rig = await createSendingRig();
});
afterAll(() => rig.stop());

const LETTERS = ['a', 'b', 'c'];
const TEXT = LETTERS.map((letter) => letter.repeat(TEXT_CHARS_MAX - 10)).join('\n\n');
/** Above the number of round trips that three parts take. */
const TRIPS_MAX = 30;

/**
 * Sends with a relay that is killed, then with another one; null: the first had sent everything
 * before.
 */
async function play(said: { channel: string; type: string }, trip: number, when: 'before' | 'after') {
  const sessionId = await rig.session();
  const chatId = `${said.type}-${said.channel}-${trip}-${when}`;
  await rig.say(sessionId, { chatId, text: TEXT, ...said });
  const { database, isKilled } = killedAt(rig.database, trip, when);
  const dying = rig.relay(`dying ${chatId}`, { database });
  for (let settled = 1; settled > 0;) {
    await rig.openGates();
    settled = await rig.run(sessionId, dying).catch(() => 0);
  }
  if (!isKilled()) return null;
  await rig.expireLeases();
  await rig.sendAll(sessionId);
  const rows = await readDeliveries(rig, { sessionId }, 'id', 'part', 'status');
  return { letters: rig.platform.textsIn(chatId).map((text) => text[0]), rows };
}

test.each([
  { channel: 'blind', type: 'reply' },
  { channel: 'blind', type: 'message' },
  { channel: 'asked', type: 'reply' },
])('a relay that is killed anywhere while it sends $type to a chat that is $channel loses nothing', async (said) => {
  let kills = 0;
  let doubled = 0;
  for (let trip = 1; trip < TRIPS_MAX; trip += 1) {
    for (const when of ['before', 'after'] as const) {
      const played = await play(said, trip, when);
      if (played === null) continue;
      kills += 1;
      const { letters, rows } = played;
      expect(letters, `${trip} ${when}`).toEqual(letters.toSorted((one = '', other = '') => one.localeCompare(other)));
      doubled += letters.length - new Set(letters).size;
      const parked = rows.filter(({ status }) => status === 'unknown');
      // A part that is not there is one that a person decides about.
      const absent = LETTERS.filter((letter) => !letters.includes(letter));
      expect(parked.length).toBeGreaterThanOrEqual(absent.length);
      expect(rows.filter(({ status }) => status !== 'sent' && status !== 'unknown')).toEqual([]);
      for (const { id } of parked) expect((await readDeadLetters(rig, { deliveryId: id }, 'code')).length).toBe(1);
      if (said.channel === 'asked' || said.type === 'reply') expect(parked).toEqual([]);
    }
  }
  expect(kills).toBeGreaterThan(15);
  if (said.channel === 'asked' || said.type === 'message') expect(doubled).toBe(0);
  else expect(doubled).toBeLessThanOrEqual(kills);
});

test('100 answers of which a middle part is refused arrive without it, each with a notice', async () => {
  rig.platform.behave(({ markdown }) => (markdown.startsWith('b') ? { status: 400, body: {} } : undefined));
  const sessions = await Promise.all(Array.from({ length: 100 }, () => rig.session()));
  await Promise.all(sessions.map((sessionId, n) => rig.say(sessionId, { chatId: `tail-${n}`, text: TEXT })));
  for (const sessionId of sessions) await rig.sendAll(sessionId);
  const letters = sessions.map((_session, n) =>
    rig.platform
      .textsIn(`tail-${n}`)
      .map((text) => text[0])
      .join(''),
  );
  expect(letters.filter((each) => each !== 'acP')).toEqual([]);
});
