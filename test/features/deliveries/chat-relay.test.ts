// Deliveries to chats: parts, their order, and what becomes of a part that was refused, delayed, or
// sent by a relay that died.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Config } from '../../../src/config.ts';
import { readDueDeliveries } from '../../../src/features/deliveries/store/due.ts';
import { relayChats } from '../../../src/features/deliveries/chat-relay.ts';
import { claimPart } from '../../../src/features/deliveries/store/claims.ts';
import { outgoingFolder } from '../../../src/files/copies.ts';
import { readDeadLetters } from '../../rows/dead-letters.ts';
import { readDeliveries } from '../../rows/deliveries.ts';
import { readSystemEvents } from '../../rows/system-events.ts';
import { readEvents } from '../../rows/events.ts';
import { createSendingRig, type SendingRig } from '../channels/sending-rig.ts';
import { TEXT_CHARS_MAX } from '../channels/loopback-platform.ts';

let rig: SendingRig;
beforeAll(async () => {
  rig = await createSendingRig();
});
beforeEach(() => {
  rig.platform.behave(() => undefined);
  rig.outcomes.length = 0;
});
afterAll(() => rig.stop());

/** A text of paragraphs, each of which is a part. */
const long = (...letters: string[]) => letters.map((letter) => letter.repeat(TEXT_CHARS_MAX - 10)).join('\n\n');
const firstLetters = (chatId: string) => rig.platform.textsIn(chatId).map((text) => text[0]);

test('a long reply is sent in parts, in their order, each a row with the id of its message (G21)', async () => {
  const sessionId = await rig.session();
  await rig.say(sessionId, { chatId: 'long', text: long('a', 'b', 'c'), messageIds: [] });
  await rig.say(sessionId, { chatId: 'long', text: 'the next', seq: 2 });
  await rig.sendAll(sessionId);
  expect(firstLetters('long')).toEqual(['a', 'b', 'c', 't']);
  const rows = await readDeliveries(rig, { sessionId }, 'seq', 'part', 'parts', 'status', 'platformId');
  expect(rows.map(({ seq, part, parts, status }) => [seq, part, parts, status])).toEqual([
    [1, 1, 3, 'sent'],
    [1, 2, 3, 'sent'],
    [1, 3, 3, 'sent'],
    [2, 1, 1, 'sent'],
  ]);
  expect(rows.every(({ platformId }) => platformId !== null)).toBe(true);
});

test('files and reactions are parts of their own, and an answer of more than ten parts is a file', async () => {
  const sessionId = await rig.session();
  const folder = outgoingFolder(rig.config.runtime.dataDir);
  await mkdir(folder);
  const here = { path: join(folder, 'copy'), name: 'notes.ts' };
  await writeFile(here.path, 'x');
  await rig.say(sessionId, {
    chatId: 'files',
    type: 'message',
    text: 'see',
    media: [here, { url: 'https://a.example/b' }],
  });
  await rig.say(sessionId, { chatId: 'files', type: 'message', seq: 2, react: { emoji: '👍', messageId: '7' } });
  await rig.say(sessionId, { chatId: 'files', text: long(...'abcdefghijkl'.split('')), seq: 3 });
  await rig.sendAll(sessionId);
  const sent = rig.platform.kept.filter(({ chatId }) => chatId === 'files');
  expect(sent.map(({ markdown, fileName }) => fileName ?? markdown)).toEqual([
    'see',
    'notes.ts',
    'https://a.example/b',
    '👍 on 7',
    'message.md',
  ]);
});

test('a text that cannot be written into a file was not sent: it waits for the next attempt', async () => {
  vi.stubEnv('TMPDIR', '/nowhere');
  onTestFinished(() => void vi.unstubAllEnvs());
  const sessionId = await rig.session();
  await rig.say(sessionId, { chatId: 'full', type: 'message', text: long(...'abcdefghijkl'.split('')) });
  await rig.sendAll(sessionId);
  const [row] = await readDeliveries(rig, { sessionId }, 'status', 'lastError');
  expect(row).toEqual({ status: 'pending', lastError: expect.stringContaining('could not be written') });
});

test('sessions take turns in a chat by the age of their deliveries, and the parts of an answer stay together', async () => {
  const [first, second] = [await rig.session(), await rig.session()];
  await rig.say(first, { chatId: 'shared', text: long('a', 'b') });
  await rig.say(second, { chatId: 'shared', text: long('c', 'd') });
  await rig.say(first, { chatId: 'shared', text: 'e', seq: 2 });
  // Any of the sessions that were rung for sends what is next.
  await rig.sendAll(second);
  await rig.sendAll(first);
  const letters = firstLetters('shared').join('');
  expect(letters).toMatch(/ab/);
  expect(letters).toMatch(/cd/);
  expect(letters[0]).toBe('a');
  expect(letters.split('').toSorted().join('')).toBe('abcde');
});

test('a chat gets one message at a time, and another chat of the session does not wait for it', async () => {
  const sessionId = await rig.session();
  await rig.say(sessionId, { chatId: 'slow', text: 'slow' });
  await rig.say(sessionId, { chatId: 'slow', text: 'slow, too', seq: 2 });
  await rig.say(sessionId, { chatId: 'quick', text: 'quick', seq: 3 });
  const release = Promise.withResolvers<undefined>();
  rig.platform.behave(({ chatId }) => (chatId === 'slow' ? release.promise : undefined));
  const slow = rig.run(sessionId);
  await expect.poll(() => rig.platform.asked.some(({ chatId }) => chatId === 'slow')).toBe(true);
  await rig.run(sessionId, rig.relay('another relay'));
  expect(rig.platform.textsIn('quick')).toEqual(['quick']);
  expect(rig.platform.asked.filter(({ chatId }) => chatId === 'slow').length).toBe(1);
  release.resolve(undefined);
  await slow;
});

test('the tail of an answer arrives although a part in the middle is refused; chat and agent read which', async () => {
  const sessionId = await rig.session();
  await rig.say(sessionId, { chatId: 'gap', text: long('a', 'b', 'c') });
  rig.platform.behave(({ markdown }) => (markdown.startsWith('b') ? { status: 400, body: {} } : undefined));
  await rig.sendAll(sessionId);
  expect(firstLetters('gap')).toEqual(['a', 'c', 'P']);
  expect(rig.platform.textsIn('gap')[2]).toBe(
    'Part 2 of 3 of a message was not sent: HTTP 400'.slice(0, TEXT_CHARS_MAX),
  );
  const [refused] = await readDeliveries(rig, { sessionId, status: 'failed' }, 'id', 'part', 'lastStatus');
  expect(refused).toMatchObject({ part: 2, lastStatus: 400 });
  expect(await readDeadLetters(rig, { deliveryId: refused!.id }, 'code')).toEqual([{ code: 'delivery_failed' }]);
  expect(await readSystemEvents(rig, { sessionId }, 'text')).toEqual([
    { text: 'Part 2 of 3 of a message to blind/main/gap was not sent: HTTP 400' },
  ]);
});

test('a reply of which nothing is seen sends nothing, and is no error', async () => {
  const sessionId = await rig.session();
  await rig.say(sessionId, { chatId: 'silent', text: '\u200b\n' });
  await rig.sendAll(sessionId);
  expect(rig.platform.textsIn('silent')).toEqual([]);
  expect(await readDeliveries(rig, { sessionId }, 'status')).toEqual([{ status: 'sent' }]);
  expect(await readSystemEvents(rig, { sessionId }, 'text')).toEqual([]);
});

test('a chat that refuses everything gets one notice, and no dead letter for it', async () => {
  const sessionId = await rig.session();
  await rig.say(sessionId, { chatId: 'left', text: 'hello' });
  rig.platform.behave(() => ({ status: 403, body: {} }));
  await rig.sendAll(sessionId);
  const rows = await readDeliveries(rig, { sessionId }, 'status', 'part');
  expect(rows).toEqual([
    { status: 'failed', part: 1 },
    { status: 'failed', part: 2 },
  ]);
  expect((await readDeadLetters(rig, { sessionId }, 'code')).length).toBe(1);
});

test.each([
  ['reply', 'blind', ['resent', 'resent'], 'sent', ['unknown', 'sent']],
  ['message', 'blind', ['resent'], 'unknown', ['unknown']],
  ['reply', 'asked', ['resent'], 'sent', ['sent']],
])(
  'a %s through a channel that is %s, whose relay died after the platform had it, is seen %j',
  async (type, channel, texts, status, outcomes) => {
    const sessionId = await rig.session();
    const chatId = `died-after-${type}-${channel}`;
    await rig.say(sessionId, { chatId, type, channel, text: 'resent' });
    const dying = rig.relay('dying', { onSettled: undefined });
    await dieWhileSending(sessionId, dying);
    await rig.expireLeases();
    await rig.sendAll(sessionId);
    expect(rig.platform.textsIn(chatId)).toEqual(texts);
    const [row] = await readDeliveries(rig, { sessionId }, 'id', 'status');
    expect(row!.status).toBe(status);
    expect(rig.outcomes).toEqual(outcomes);
    const events = await readEvents(rig, { sessionId, type: 'delivery.unknown' }, 'type');
    expect(events.length).toBe(channel === 'blind' ? 1 : 0);
  },
);

/**
 * Claims and divides the delivery and sends its first part, without storing that: the relay died.
 */
async function dieWhileSending(
  sessionId: Awaited<ReturnType<SendingRig['session']>>,
  dying: ReturnType<SendingRig['relay']>,
) {
  const failing = Object.assign(Object.create(dying.database), {
    hot: {
      query: (query: { name: string; text: string }) =>
        query.name.startsWith('settle-delivery')
          ? Promise.reject(new Error('The process was killed.'))
          : dying.database.hot.query(query),
    },
  });
  await rig.run(sessionId, { ...dying, database: failing }).catch(() => undefined);
}

test.each([
  ['blind', 'its account is away', 'unknown'],
  ['blind', 'the worker stops', 'unknown'],
  ['asked', 'its account is away', 'sent'],
  ['asked', 'the worker stops', 'sent'],
])(
  'a message through a channel that is %s, whose relay died, stays in doubt while %s',
  async (channel, hindrance, status) => {
    const sessionId = await rig.session();
    const chatId = `in-doubt-${channel}-${hindrance}`;
    await rig.say(sessionId, { chatId, type: 'message', channel, text: 'once' });
    await dieWhileSending(sessionId, rig.relay('dying'));
    await rig.expireLeases();
    const platforms = hindrance === 'its account is away' ? {} : rig.config.channels.platforms;
    const config = { ...rig.config, channels: { ...rig.config.channels, platforms } } as Config;
    const draining = new AbortController().signal;
    const signal = hindrance === 'the worker stops' ? AbortSignal.abort() : draining;
    await relayChats(rig.relay('hindered', { config }), sessionId, { signal, draining });
    expect(await readDeliveries(rig, { sessionId }, 'status', 'settledAt')).toEqual([
      { status: 'sending', settledAt: null },
    ]);
    await rig.expireLeases();
    await rig.sendAll(sessionId);
    expect(rig.platform.textsIn(chatId)).toEqual(['once']);
    expect(await readDeliveries(rig, { sessionId }, 'status')).toEqual([{ status }]);
  },
);

test('a relay that is suspended after the commit of its claim does not send what another one has sent', async () => {
  const sessionId = await rig.session();
  await rig.say(sessionId, { chatId: 'suspended', channel: 'asked', text: long('a', 'b') });
  await rig.openGates();
  await rig.run(sessionId);
  await rig.openGates();
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const query = async (statement: { name: string; text: string }) => {
    const answer = await rig.database.hot.query(statement);
    if (statement.name.startsWith('claim-part') && firstLetters('suspended').length === 1) {
      await rig.expireLeases();
      await rig.sendAll(sessionId);
      vi.advanceTimersByTime(60_000);
    }
    return answer;
  };
  const database = Object.assign(Object.create(rig.database), { hot: { query } });
  await rig.run(sessionId, rig.relay('suspended', { database }));
  expect(firstLetters('suspended')).toEqual(['a', 'b']);
  expect(await readDeliveries(rig, { sessionId }, 'status')).toEqual([{ status: 'sent' }, { status: 'sent' }]);
});

test('a reply is due at once although its relays died twice', async () => {
  const sessionId = await rig.session();
  const chatId = 'died-twice';
  await rig.say(sessionId, { chatId, text: 'again' });
  for (let deaths = 0; deaths < 2; deaths += 1) {
    await rig.openGates();
    await dieWhileSending(sessionId, rig.relay('dying'));
    await rig.expireLeases();
    await rig.run(sessionId);
  }
  await rig.sendAll(sessionId);
  expect(rig.platform.textsIn(chatId).length).toBe(3);
  expect(await readDeliveries(rig, { sessionId }, 'status')).toEqual([{ status: 'sent' }]);
});

test('a relay that dies before it has divided a delivery leaves nothing in doubt', async () => {
  const sessionId = await rig.session();
  await rig.say(sessionId, { chatId: 'died-early', type: 'message', text: 'once' });
  await rig.openGates();
  await claimPart(rig.database, { sessionId, url: null, owner: 'dead', leaseMs: 60_000 });
  await rig.expireLeases();
  await rig.sendAll(sessionId);
  expect(rig.platform.textsIn('died-early')).toEqual(['once']);
  expect(rig.outcomes).toEqual(['sent']);
});

test('a message whose answer was lost is parked, a reply is sent again, and what can be asked for is asked for (G39)', async () => {
  for (const [type, channel] of [
    ['message', 'blind'],
    ['reply', 'blind'],
    ['message', 'asked'],
  ] as const) {
    const sessionId = await rig.session();
    const chatId = `cut-${type}-${channel}`;
    let cuts = 1;
    rig.platform.behave(() => (cuts-- > 0 ? 'cut' : undefined));
    await rig.say(sessionId, { chatId, type, channel, text: 'cut' });
    await rig.sendAll(sessionId);
    await rig.expireLeases();
    await rig.sendAll(sessionId);
    const rows = await readDeliveries(rig, { sessionId }, 'status');
    expect([rows.map(({ status }) => status), rig.platform.textsIn(chatId).length]).toEqual(
      { 'cut-message-blind': [['unknown'], 1], 'cut-reply-blind': [['sent'], 2], 'cut-message-asked': [['sent'], 1] }[
        chatId
      ],
    );
  }
});

test('a chat that asks to wait gets nothing before that time from any of three relays, and other chats get theirs', async () => {
  const sessions = await Promise.all(Array.from({ length: 6 }, () => rig.session()));
  const [held, ...others] = sessions;
  await rig.openGates();
  await rig.say(held!, { chatId: 'held', text: long('a', 'b') });
  const waitMs = 3_000;
  let heldAtMs = 0;
  rig.platform.behave(({ chatId }) => {
    if (chatId !== 'held' || heldAtMs > 0) return undefined;
    heldAtMs = performance.now();
    return { status: 429, body: { retryAfterMs: waitMs } };
  });
  const relays = ['one', 'two', 'three'].map((owner) => rig.relay(owner));
  await rig.run(held!, relays[0]);
  for (const [n, other] of others.entries()) await rig.say(other, { chatId: `beside-${n}`, text: 'hello' });
  const saidAtMs = performance.now();
  while (performance.now() < heldAtMs + waitMs + 1_500) {
    await Promise.all(relays.flatMap((relay) => sessions.map((each) => rig.run(each, relay))));
  }
  const after = rig.platform.asked.filter(({ chatId, atMs }) => chatId === 'held' && atMs > heldAtMs + 1);
  expect(after.map(({ markdown }) => markdown[0])).toEqual(['a', 'b']);
  expect(after[0]!.atMs - heldAtMs).toBeGreaterThanOrEqual(waitMs);
  expect(after[1]!.atMs - after[0]!.atMs).toBeGreaterThanOrEqual(1_000);
  const beside = rig.platform.kept.filter(({ chatId }) => chatId.startsWith('beside-'));
  expect(beside.length).toBe(5);
  // The bound is for a quiet machine; what is not held is sent long before the chat is free.
  expect(Math.max(...beside.map(({ atMs }) => atMs - saidAtMs))).toBeLessThan(waitMs / 2);
});

test('an account that asks to wait holds all of its chats', async () => {
  const [first, second] = [await rig.session(), await rig.session()];
  await rig.openGates();
  await rig.say(first, { chatId: 'account-1', text: 'one' });
  await rig.say(second, { chatId: 'account-2', text: 'two' });
  rig.platform.behave(() => ({ status: 429, body: { retryAfterMs: 60_000, isOfAccount: true } }));
  await rig.run(first);
  rig.platform.behave(() => undefined);
  const rung: number[] = [];
  await rig.run(second, rig.relay('relay', { ringLater: (_session, inMs) => rung.push(inMs) }));
  expect(rig.platform.textsIn('account-2')).toEqual([]);
  expect(rung[0]).toBeGreaterThan(50_000);
  await rig.sendAll(second);
  expect(rig.platform.textsIn('account-2')).toEqual(['two']);
});

test('a session is rung for when the next delivery of one of its chats is due', async () => {
  const sessionId = await rig.session();
  await rig.say(sessionId, { chatId: 'rung', text: 'hello' });
  const isRung = async () => (await readDueDeliveries(rig.database)).rings.some((ring) => ring.sessionId === sessionId);
  expect(await isRung()).toBe(true);
  await rig.openGates();
  await claimPart(rig.database, { sessionId, url: null, owner: 'relay', leaseMs: 60_000 });
  expect(await isRung()).toBe(false);
  await rig.expireLeases();
  expect(await isRung()).toBe(true);
});

test('each part is rung for with a number of its own: the job of a relay that died with one keeps no other from being rung for', async () => {
  const sessionId = await rig.session();
  await rig.say(sessionId, { chatId: 'numbered', text: long('a', 'b') });
  const ringNo = async () =>
    (await readDueDeliveries(rig.database)).rings.find((ring) => ring.sessionId === sessionId)?.ringNo;
  const first = await ringNo();
  expect(first).toBeGreaterThan(0);
  expect(await ringNo()).toBe(first);
  await rig.run(sessionId);
  expect(firstLetters('numbered')).toEqual(['a']);
  await expect.poll(ringNo).toBeGreaterThan(0);
  const second = await ringNo();
  expect(second).not.toBe(first);
  // The relay that was rung for dies while it sends.
  await claimPart(rig.database, { sessionId, url: null, owner: 'dead', leaseMs: 100 });
  await expect.poll(ringNo).toBeGreaterThan(0);
  expect(await ringNo()).not.toBe(second);
});

test('a delivery to an account that is not configured waits and says so', async () => {
  const sessionId = await rig.session();
  await rig.say(sessionId, { chatId: 'nowhere', channel: 'gone', text: 'hello' });
  await rig.run(sessionId);
  expect(await readDeliveries(rig, { sessionId }, 'status', 'lastError')).toEqual([
    { status: 'pending', lastError: 'There is no account channels.gone.accounts.main, or it is disabled.' },
  ]);
});
