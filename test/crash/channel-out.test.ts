// Goal: what agents say arrives in chats, in its order, although relays are killed and frozen
// before the request to the platform, between the request and the answer, and after it. Nothing is
// lost; nothing is doubled where the platform can say what it was sent, and elsewhere at most as
// often as a relay was struck in between, and never what is to be parked (G21). A relay that was
// frozen while it had a part may send it when it wakes. Method: replies of 1 to 6 parts to many
// chats of every platform, as rows of the outbox, and real workers; then what the platforms have is
// compared with what was said.
import { expect, test } from 'vitest';
import { formatChannelUrl } from '../../src/core/channel-address.ts';
import { newId } from '../../src/ids.ts';
import type { BarChannel } from '../features/channels/bars/bar-channel.ts';
import { startPlatforms } from '../features/channels/bars/bar-platforms.ts';
import { readDeadLetters } from '../rows/dead-letters.ts';
import { addDeliveries, countDeliveries, readDeliveries } from '../rows/deliveries.ts';
import { addSessions } from '../rows/sessions.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isFullForm, isLongForm } from '../servers/test-form.ts';
import { apiKey, startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { everyOutboxPoint, markOf, OutboxStrikes, type OutboxPoint } from './rig/outbox-strikes.ts';
import { waitUntil } from './rig/wait-until.ts';

const SOON_MS = 900_000;
const PARTS_MAX = isLongForm() ? 6 : 3;
/** Of each channel. */
const REPLIES = isFullForm() ? 1_000 : isLongForm() ? 60 : 12;
const CHATS = isFullForm() ? 500 : isLongForm() ? 40 : 12;
const CHATS_AT_ONCE = 20;
/**
 * The platform's words for "not before": the chat, or all of the account, waits so long, in
 * seconds.
 */
const WAIT_SECONDS = isFullForm() ? 20 : 3;
const OTHERS = isFullForm() ? 40 : 10;
/**
 * How much longer other chats may take while one waits, in milliseconds; only the full form has a
 * machine to itself.
 */
const LONGER_MS_MAX = isFullForm() ? 100 : 5_000;
const TAILS = isFullForm() ? 100 : 5;
/** What the tool `message` sends is parked when its sender died. */
const isParked = (reply: number): boolean => reply % 4 === 3;
/** Every part of the chats of a test has a mark of its own: replies are numbered over all tests. */
const FIRST_TAIL = 5_000;
const FIRST_LIMITED = 10_000;
const FIRST_FIRE = 20_000;
const FIRES = isFullForm() ? 500 : isLongForm() ? 40 : 12;

let rig: CrashRig;
let channels: BarChannel[];
let strikes: OutboxStrikes | undefined;
let databaseUrl: string;

shareAmongTests(async (onEnd) => {
  const platforms = await startPlatforms({ onCall: (call) => strikes?.onCall(call) }, onEnd);
  channels = platforms.channels;
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  databaseUrl = database.url;
  const made = await startCrashRig({
    databaseUrl,
    workers: 3,
    settings: { channels: platforms.settings },
    env: { HOLDFAST_RECONCILE_MS: '200' },
  });
  onEnd(() => made.close());
  rig = made;
});

interface Reply {
  chat: number;
  reply: number;
  parts: number;
}

/** Stores replies in the outbox, as turns do. */
async function speak(channel: BarChannel, replies: readonly Reply[]): Promise<void> {
  const index = channels.indexOf(channel);
  const chats = Map.groupBy(replies, ({ chat }) => chat);
  for (const chat of chats.keys()) channel.open(chat);
  const sessions = [...chats.keys()].map((chat) => ({ id: newId<string>(), chat }));
  await addSessions(
    rig.database,
    ...sessions.map(({ id, chat }) => ({ id, key: `agent:main:${channel.name}:direct:${chat}` })),
  );
  const rows = sessions.flatMap(({ id: sessionId, chat }) =>
    chats.get(chat)!.map(({ reply, parts }, place) => {
      const url = formatChannelUrl({ channel: channel.name, accountId: 'main', chatId: channel.chatId(chat) });
      const paragraphs = Array.from({ length: parts }, (_, part) =>
        `c${index}r${reply}p${part + 1} `.padEnd(channel.paragraphChars, 'word '),
      );
      const payload = { type: isParked(reply) ? 'message' : 'reply', text: paragraphs.join('\n\n'), messageIds: [] };
      return { sessionId, seq: place + 1, channel: channel.name, target: { url }, payload };
    }),
  );
  await addDeliveries(rig.database, ...rows);
}

const openParts = (channel?: BarChannel) =>
  countDeliveries(rig.database, { status: ['pending', 'sending'], ...(channel && { channel: channel.name }) });
const marksIn = (channel: BarChannel, chat: number): string[] => channel.sentIn(chat).map(markOf);
const marksOf = (channel: BarChannel, { reply, parts }: Reply): string[] =>
  Array.from({ length: parts }, (_, part) => `c${channels.indexOf(channel)}r${reply}p${part + 1}`);

function shortPoints(): OutboxPoint[] {
  return [
    { at: 'request', isAccepted: true, fault: 'kill' },
    { at: 'request', isAccepted: true, fault: 'cut' },
    { at: 'statement', kind: 'divide-delivery', when: 'after', fault: 'kill' },
    { at: 'request', isAccepted: false, fault: 'cut' },
    { at: 'statement', kind: 'settle-delivery', when: 'before', fault: 'kill' },
  ];
}

test('of replies nothing is lost, and nothing doubled but what was being sent when its relay was struck (G39)', async () => {
  const plans = channels.map((channel) => {
    const replies = Array.from({ length: REPLIES }, (_, reply) => ({
      chat: reply % CHATS,
      reply,
      parts: 1 + (reply % PARTS_MAX),
    }));
    return { channel, replies };
  });
  strikes = new OutboxStrikes(rig, channels, isFullForm() ? null : databaseUrl);
  // What is oldest is sent first, and every channel has something to send until the end.
  for (let first = 0; first < CHATS; first += CHATS_AT_ONCE)
    for (const { channel, replies } of plans)
      await speak(
        channel,
        replies.filter(({ chat }) => chat >= first && chat < first + CHATS_AT_ONCE),
      );
  const points = isLongForm()
    ? [
        ...everyOutboxPoint(['kill', ...Array.from(channels.slice(1), () => 'cut' as const)]),
        ...(isFullForm() ? everyOutboxPoint(['freeze', 'kill', 'cut', 'kill', 'cut']) : []),
      ]
    : shortPoints();
  await strikes.strikeAll(points, async (channel) => (await openParts(channel)) === 0);
  await waitUntil('everything is sent or parked', SOON_MS, async () => {
    await strikes!.expireDead();
    return (await openParts()) === 0;
  });
  const { inBetween, held, struck } = strikes;
  const parked = new Set(
    (await readDeliveries(rig.database, { status: 'unknown' }, 'text')).map(({ text }) => markOf(text ?? '')),
  );
  const faults: string[] = [];
  for (const { channel, replies } of plans) {
    const counts = { parts: 0, doubled: 0, parked: 0, absent: 0, struckInBetween: 0, held: 0 };
    for (const [chat, own] of Map.groupBy(replies, (each) => each.chat)) {
      const expected = own.flatMap((reply) => marksOf(channel, reply));
      const sent = marksIn(channel, chat);
      const place = new Map(expected.map((mark, at) => [mark, at]));
      const places = sent
        .filter((mark, at) => !held.has(mark) || sent.indexOf(mark) === at)
        .map((mark) => place.get(mark) ?? -1);
      if (places.some((at, n) => at < (places[n - 1] ?? 0)))
        faults.push(`${channel.name} ${chat}: order ${sent.join()}`);
      for (const mark of expected) {
        const copies = sent.filter((each) => each === mark).length;
        const between = inBetween.get(mark) ?? 0;
        const isToPark = isParked(Number(/r(\d+)/.exec(mark)?.[1]));
        const mayPark = isToPark && channel.knowsRepeats !== 'always' && between > 0;
        const isOnce = isToPark || channel.knowsRepeats !== 'never';
        const copiesMax = Math.max(held.has(mark) ? 2 : 1, isOnce ? 1 : 1 + between);
        if (copies === 0 && !(mayPark && parked.has(mark))) faults.push(`${channel.name}: ${mark} is lost`);
        if (copies > copiesMax) faults.push(`${channel.name}: ${mark} was sent ${copies} times, at most ${copiesMax}`);
        if (parked.has(mark) && !mayPark) faults.push(`${channel.name}: ${mark} is parked without a reason`);
        counts.parts += 1;
        counts.doubled += Math.max(0, copies - 1);
        counts.parked += parked.has(mark) ? 1 : 0;
        counts.absent += copies === 0 ? 1 : 0;
        counts.struckInBetween += between;
        counts.held += held.has(mark) ? 1 : 0;
      }
    }
    process.stderr.write(`Replies to ${channel.name}: ${replies.length}, ${JSON.stringify(counts)}\n`);
  }
  process.stderr.write(`Relays were struck at ${struck} of ${points.length} points\n`);
  expect(faults).toEqual([]);
  expect((await readDeadLetters(rig.database, { code: 'delivery_unknown' }, 'code')).length).toBe(parked.size);
  expect(struck).toBeGreaterThanOrEqual(points.length * 0.75);
});

test.runIf(isLongForm())(
  'where a platform refuses a middle part, the tail arrives, and the chat reads of the gap',
  async () => {
    strikes = undefined;
    for (const channel of channels) {
      const replies = Array.from({ length: TAILS }, (_, n) => ({
        chat: FIRST_TAIL + n,
        reply: FIRST_TAIL + n,
        parts: 3,
      }));
      const { refusal, server } = channel;
      for (const { chat } of replies)
        server.faults.arm({
          kind: 'refuse',
          method: channel.sendMethod,
          chat: channel.chatId(chat),
          after: 1,
          ...refusal,
        });
      await speak(channel, replies);
    }
    await waitUntil('everything is sent', SOON_MS, async () => (await openParts()) === 0);
    for (const channel of channels) {
      const index = channels.indexOf(channel);
      const kept = Array.from({ length: TAILS }, (_, n) =>
        channel.sentIn(FIRST_TAIL + n).map((text) => text.slice(0, 20)),
      );
      const expected = kept.map((_, n) => [
        expect.stringContaining(`c${index}r${FIRST_TAIL + n}p1 `),
        expect.stringContaining(`c${index}r${FIRST_TAIL + n}p3 `),
        'Part 2 of 3 of a mes',
      ]);
      expect(kept).toEqual(expected);
      channel.server.faults.clear();
    }
    const refused = await readDeliveries(rig.database, { status: 'failed' }, 'text');
    expect(refused.length).toBe(TAILS * channels.length);
  },
);

test.runIf(isLongForm())(
  'a chat (on Signal an account) that the platform has wait gets nothing before its time from any relay, and other chats do not wait for it',
  async () => {
    strikes = undefined;
    const from = channels.map(({ server }) => server.calls.count);
    const alone = await timeOthers(FIRST_LIMITED + 1);
    for (const channel of channels) {
      const { server, sendMethod: method, chatId } = channel;
      server.faults.arm({ kind: 'refuse', method, chat: chatId(FIRST_LIMITED), retryAfter: WAIT_SECONDS });
      await speak(channel, [{ chat: FIRST_LIMITED, reply: FIRST_LIMITED, parts: 2 }]);
    }
    const callsOf = ({ server }: BarChannel) =>
      server.calls.entries.filter(({ number }) => number > from[channels.findIndex((each) => each.server === server)]!);
    const refusedIn = (channel: BarChannel) =>
      callsOf(channel).filter(({ fault, chat }) => fault !== null && chat === channel.chatId(FIRST_LIMITED));
    await waitUntil('every platform has refused', SOON_MS, () =>
      channels.every((channel) => refusedIn(channel).length > 0),
    );
    const beside = await timeOthers(FIRST_LIMITED + 1_000);
    await waitUntil('everything is sent', SOON_MS, async () => (await openParts()) === 0);
    for (const [index, channel] of channels.entries()) {
      const isOfAccount = channel.limits === 'account';
      const [refused, ...more] = refusedIn(channel);
      const beginsMs = Date.parse(refused!.receivedAt);
      const early = callsOf(channel)
        .filter((call) => channel.textOf(call) !== null && call.fault === null)
        .filter(({ chat }) => isOfAccount || chat === channel.chatId(FIRST_LIMITED))
        .map(({ receivedAt }) => Date.parse(receivedAt))
        .filter((atMs) => atMs > beginsMs && atMs < beginsMs + WAIT_SECONDS * 1_000);
      expect([more, early]).toEqual([[], []]);
      if (isOfAccount) continue;
      const [usual, then] = [alone[index]!, beside[index]!];
      process.stderr.write(`${channel.name}: other chats took ${usual} ms, and ${then} ms beside the one that waits\n`);
      expect(then - usual).toBeLessThanOrEqual(LONGER_MS_MAX);
    }
  },
);

/**
 * Sends a message to one chat after the other on each channel. Resolves with the median times from
 * the row until the platform had it, in milliseconds.
 */
function timeOthers(first: number): Promise<number[]> {
  return Promise.all(
    channels.map(async (channel) => {
      const times: number[] = [];
      // On an account that waits there is no more than one to wait for.
      for (let chat = first; chat < first + (channel.limits === 'chat' ? OTHERS : 1); chat += 1) {
        const beganAtMs = Date.now();
        await speak(channel, [{ chat, reply: chat, parts: 1 }]);
        const callOf = () =>
          channel.server.calls.entries.findLast(
            (call) => call.chat === channel.chatId(chat) && channel.textOf(call) !== null,
          );
        await waitUntil('a chat has its message', SOON_MS, () => callOf() !== undefined);
        times.push(Date.parse(callOf()!.receivedAt) - beganAtMs);
      }
      return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)]!;
    }),
  );
}

test('of fires of crons to chats, the status of the fire, the outbox and the platform agree', async () => {
  const fires = await Promise.all(
    Array.from({ length: FIRES }, async (_, n) => {
      const channel = channels[n % channels.length]!;
      const chat = FIRST_FIRE + n;
      channel.open(chat);
      const { server, sendMethod: method, refusal } = channel;
      const isRefused = Math.floor(n / channels.length) % 3 === 0;
      // The notice of the gap is refused too, so that the chat has nothing.
      if (isRefused) server.faults.arm({ kind: 'refuse', method, chat: channel.chatId(chat), times: 2, ...refusal });
      return { channel, chat, isRefused, text: `fire ${n}`, id: await createCron(channel, chat, `fire ${n}`) };
    }),
  );
  for (const { id } of fires) expect((await rig.client.ask(`/v1/crons/${id}/run`, {})).status).toBe(202);
  const fireOf = async (id: string) => (await read(`/v1/crons/${id}/fires`)).items[0]!;
  await waitUntil('every fire has ended', SOON_MS, async () => {
    const open = await Promise.all(fires.map(({ id }) => fireOf(id)));
    return open.every(({ status }) => status !== 'claimed') && (await openParts()) === 0;
  });
  const disagreeing: string[] = [];
  for (const { id, channel, chat, text, isRefused } of fires) {
    const { status, delivery, turnId } = await fireOf(id);
    const rows = await readDeliveries(rig.database, { turnId, part: 1 }, 'status');
    const told = [status, delivery, rows.map((row) => row.status).join(), channel.sentIn(chat).join()].join(' | ');
    const expected = isRefused ? 'completed | failed | failed | ' : `completed | sent | sent | ${text}`;
    if (told !== expected) disagreeing.push(`${channel.name} ${text}: ${told}, not ${expected}`);
  }
  expect(disagreeing).toEqual([]);
});

async function createCron({ name, chatId }: BarChannel, chat: number, text: string): Promise<string> {
  const { body } = await rig.client.ask('/v1/crons', {
    name: text,
    schedule: { kind: 'every', everyMs: '1d' },
    payload: { kind: 'agentTurn', message: `[[reply: ${text}]]` },
    target: 'isolated',
    delivery: { mode: 'channel', channel: name, chatId: chatId(chat) },
  });
  return (body as { id: string }).id;
}

interface Fire {
  status: string;
  delivery: string | null;
  turnId: string;
}

async function read(path: string): Promise<{ items: Fire[] }> {
  const answer = await fetch(rig.api.service.url + path, { headers: { authorization: `Bearer ${apiKey}` } });
  return (await answer.json()) as { items: Fire[] };
}
