// Goal: what people write on chat platforms becomes one input each, in the order of its chat,
// although workers that poll or hold sockets and API processes behind webhooks are killed, and
// frozen past their lease, at round trips to the database; nothing is acknowledged before its row,
// no two processes read an account at once, and a change of the token skips nothing (G1, G2).
// Signal's daemon hands a message over once, so a receiver that is struck may lose one. Method:
// bursts in many chats of every platform, some sent twice or in another order, one fault for each
// burst; then the inbox is compared with what was written. A pause keeps turns from running.
import { expect, test } from 'vitest';
import type { RecordedCall, RecordedPush } from '../../scripted-platform/call-log.ts';
import type { BarChannel } from '../features/channels/bars/bar-channel.ts';
import { startPlatforms } from '../features/channels/bars/bar-platforms.ts';
import { startFront } from '../features/channels/bars/front.ts';
import { absentTexts, indexTexts, readTextsBySession } from '../rows/channels.ts';
import { changeChannelAccounts, readChannelAccounts } from '../rows/channel-accounts.ts';
import { addPauses } from '../rows/pauses.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isFullForm, isLongForm } from '../servers/test-form.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { nameOfAny, strikeAny, type AnyPoint } from './rig/strike-any.ts';
import type { Victim } from './rig/victim.ts';
import { waitUntil } from './rig/wait-until.ts';

const SOON_MS = 240_000;
/** Of each platform. */
const UPDATES = isFullForm() ? 10_000 : isLongForm() ? 400 : 60;
const CHATS = isFullForm() ? 40 : 8;
const TAKEOVER_KINDS = ['claim-channel-account', 'note-channel-connected'];

let rig: CrashRig;
let apis: Victim[];
let channels: BarChannel[];
/** The texts of each chat in the order in which they were written. */
const said = new Map<string, string[]>();
/** How many pushes there were when a text was sent first, and when it was acknowledged. */
const sentAt = new Map<string, number>();
const acknowledgedAt = new Map<string, number>();
const faults: string[] = [];
/**
 * The texts that a platform will not hand over again, and how many of those there may be: one for
 * each strike of a receiver.
 */
const gone = new Set<string>();
let goneMax = 0;
let checks = 0;
let isFrozen = () => false;
/** The processes that end still acknowledge, when the database has no reader any more. */
let isEnding = false;

async function checkStored(texts: string[], by: string): Promise<void> {
  if (texts.length === 0 || isEnding) return;
  checks += texts.length;
  const absent = await absentTexts(rig.database, texts);
  faults.push(...absent.map((text) => `${text} was acknowledged by ${by} before its row`));
}

function checkReaders({ name, incoming }: BarChannel): void {
  const readers = incoming.readers?.() ?? 0;
  if (readers > (isFrozen() ? 2 : 1)) faults.push(`${name} has ${readers} readers`);
}

async function onCall(call: RecordedCall): Promise<void> {
  for (const channel of channels ?? []) {
    const texts = channel.incoming.confirmedBy?.(call) ?? [];
    for (const text of texts) acknowledgedAt.set(text, 0);
    await checkStored(texts, 'a poll');
    if (call.method === 'getUpdates') checkReaders(channel);
  }
}

function onAnswered(channel: BarChannel, push: RecordedPush): void {
  const text = channel.incoming.textOf(push);
  if (text?.startsWith(`${channel.name} `) !== true || push.status !== 200) return;
  checkReaders(channel);
  if (!acknowledgedAt.has(text)) acknowledgedAt.set(text, channel.server.pushes.count);
  if (channel.incoming.isOver === undefined) pendingChecks.push(checkStored([text], 'an answer'));
}
const pendingChecks: Promise<void>[] = [];

shareAmongTests(async (onEnd) => {
  const platforms = await startPlatforms({ onCall }, onEnd);
  channels = platforms.channels;
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const made = await startCrashRig({
    databaseUrl: database.url,
    workers: 2,
    settings: { channels: platforms.settings, limits: { waitingTotal: 1_000_000 } },
  });
  onEnd(() => made.close());
  rig = made;
  apis = [rig.api, await rig.startVictim('api-2', 'api')];
  await addPauses(rig.database, {});
  await indexTexts(rig.database);
  onEnd(() => (isEnding = true));
  const front = await startFront(apis.map((api) => () => api.service.url));
  onEnd(() => front.close());
  for (const server of new Set(channels.map((channel) => channel.server)))
    server.pushes.onAnswered = (push) => {
      for (const channel of channels) if (channel.server === server) onAnswered(channel, push);
    };
  for (const { name, incoming } of channels) {
    const url = `${front.url}/v1/channels/${name}/main/webhook`;
    // The first request loads the platform, which can take longer than Slack waits.
    const connect = async (): Promise<boolean> => (await incoming.subscribe?.(url).catch(() => false)) !== false;
    await waitUntil(`${name} is connected`, SOON_MS, connect);
    await waitUntil(`${name} is read`, SOON_MS, () => incoming.readers === undefined || incoming.readers() === 1);
  }
});

let numbers = 0;
let unstored: string[] = [];

/** What a channel has of the updates of its platform. */
function shareOf({ settings: { adapter } }: BarChannel, count: number): number {
  return Math.ceil(count / channels.filter(({ settings }) => settings['adapter'] === adapter).length);
}

/** People write in all chats of a channel, in bursts. */
function write(channel: BarChannel, count: number): void {
  for (let n = 0; n < count; n += 1) {
    numbers += 1;
    const chat = numbers % CHATS;
    const key = `${channel.name} ${chat}`;
    const text = `${key} ${numbers}`;
    said.set(key, [...(said.get(key) ?? []), text]);
    unstored.push(text);
    channel.say(chat, text);
  }
}

async function play(count: number): Promise<void> {
  for (const channel of channels) {
    const own = shareOf(channel, count);
    channel.incoming.disturb?.({ duplicate: Math.ceil(own / 5), reorder: 3 });
    write(channel, own);
    channel.incoming.disturb?.({ duplicate: 0, reorder: 0 });
  }
  const waiting = unstored;
  unstored = [];
  let absent = waiting;
  // Slack stops sending what is not acknowledged, and is asked for it after a gap.
  await waitUntil('everything has a row', SOON_MS, async () => {
    const over = new Set(absent.filter(isOver));
    absent = await absentTexts(rig.database, absent);
    return absent.every((text) => over.has(text));
  }).catch((error: Error) => {
    throw new Error(`${error.message}; ${absent.map(describePushes).join('; ')}`);
  });
}

const channelOf = (text: string) => channels.find(({ name }) => text.startsWith(`${name} `));
const isOver = (text: string): boolean => channelOf(text)?.incoming.isOver?.(text) === true;

function describePushes(text: string): string {
  const { server, incoming } = channelOf(text)!;
  const pushes = server.pushes.entries.filter((push) => incoming.textOf(push) === text);
  return `${text} is absent and was pushed ${pushes.map(({ sentAt, attempt, status }) => `at ${sentAt} (${attempt}: ${status})`).join(', ')}`;
}

/**
 * Every text is one input, after those of its chat that were acknowledged before it was sent, or in
 * the order of the chat where the platform keeps it.
 */
async function judge(): Promise<string[]> {
  await Promise.all(pendingChecks.splice(0));
  const found = faults.splice(0);
  const sessions = await readTextsBySession(rig.database);
  const bySession = new Map(sessions.map((texts) => [texts[0]!.split(' ').slice(0, 2).join(' '), texts]));
  for (const channel of channels)
    for (const push of channel.server.pushes.entries) {
      const text = channel.incoming.textOf(push);
      if (text?.startsWith(`${channel.name} `) === true && !sentAt.has(text)) sentAt.set(text, push.number);
    }
  for (const [chat, texts] of said) {
    const kept = bySession.get(chat) ?? [];
    const place = new Map(kept.map((text, at) => [text, at]));
    if (kept.length !== place.size) found.push(`${chat} has inputs twice`);
    const lost = texts.filter((text) => !place.has(text));
    for (const text of lost.filter(isOver)) gone.add(text);
    const absent = lost.filter((text) => !isOver(text));
    if (absent.length > 0) found.push(`${chat} has lost ${absent.join(', ')}`);
    const isPolled = channelOf(chat)?.incoming.confirmedBy !== undefined;
    // One that a frozen receiver had is kept late, or never.
    const ordered = kept.filter((text) => !gone.has(text));
    const wrong = isPolled ? texts.filter((text, at) => place.get(text) !== at) : outOfOrder(ordered, texts);
    if (wrong.length > 0) found.push(`${chat} has in the wrong order ${wrong.slice(0, 3).join(', ')}`);
  }
  return found;
}

/**
 * The texts that are kept after a later one, which was sent only when they were acknowledged
 * already. An earlier one may be sent that late: it was read from the history before.
 */
function outOfOrder(kept: readonly string[], written: readonly string[]): string[] {
  const writtenAt = new Map(written.map((text, at) => [text, at]));
  const isLater = (text: string, other: string): boolean => (writtenAt.get(text) ?? 0) > (writtenAt.get(other) ?? 0);
  return kept.filter((text, place) => {
    const before = kept.slice(0, place).filter((other) => isLater(other, text));
    return before.some((other) => (acknowledgedAt.get(text) ?? Infinity) < (sentAt.get(other) ?? 0));
  });
}

/** The accounts are left, and claimed when people have begun to write. */
async function playTakeover(count: number): Promise<void> {
  await changeChannelAccounts(rig.database, {}, { isPaused: true });
  await waitUntil('the accounts are left', SOON_MS, async () => {
    const rows = await readChannelAccounts(rig.database, {}, 'owner', 'leaseExpiresAt');
    return rows.every(({ owner, leaseExpiresAt }) => owner === null || leaseExpiresAt! < new Date());
  });
  for (const channel of channels) write(channel, 2);
  await changeChannelAccounts(rig.database, {}, { isPaused: false });
  await play(count);
}

/**
 * The token of an account is replaced while people write to the old bot and the new one; its
 * workers start again.
 */
async function playNewToken(count: number): Promise<void> {
  await play(count);
  for (const { incoming } of channels) incoming.changeToken?.();
  for (const channel of channels) write(channel, shareOf(channel, count));
  await Promise.all(rig.workers.map((worker) => worker.kill()));
  await Promise.all(rig.workers.map((worker) => worker.revive()));
  await play(count);
}

interface Struck extends AnyPoint {
  /** What is struck: a worker, or an API process. */
  by: 'worker' | 'api';
}

const isTakeover = ({ kind }: AnyPoint): boolean => TAKEOVER_KINDS.includes(kind);

function listPoints(): Struck[] {
  const pointsOf = (by: Struck['by'], kinds: readonly string[], ordinal?: number): Struck[] =>
    kinds.flatMap((kind) =>
      (['kill', 'freeze'] as const).flatMap((fault) =>
        (['before', 'after'] as const).map((when) => ({ by, fault, when, kind, ...(ordinal && { ordinal }) })),
      ),
    );
  const all = [
    ...pointsOf('worker', ['accept'], 4),
    ...pointsOf('api', ['accept', 'read-channel-pause'], 4),
    ...pointsOf('worker', ['store-channel-position', 'renew-channel-account', ...TAKEOVER_KINDS]),
  ];
  if (isFullForm()) return [...all, ...all];
  // Each process, statement, fault and side at least once.
  if (isLongForm()) return all.filter((_, at) => at % 5 === 0);
  return all.filter(({ by, fault, when, kind }) =>
    ['api kill before accept', 'worker freeze before store-channel-position'].includes(
      `${by} ${fault} ${when} ${kind}`,
    ),
  );
}

test('every update of every platform is one input in the order of its chat, through kills and freezes of its receivers (G38)', async () => {
  const points = listPoints();
  const count = Math.ceil(UPDATES / (points.length + 3));
  const found: string[] = [];
  let struck = 0;
  for (const [index, point] of points.entries()) {
    isFrozen = () => point.fault === 'freeze';
    if (index % 3 === 1) for (const { incoming } of channels) incoming.cut?.();
    const scene = { play: () => (isTakeover(point) ? playTakeover(count) : play(count)), judge };
    const report = await strikeAny(point.by === 'worker' ? rig.workers : apis, point, scene);
    if (report.isStruck) struck += 1;
    if (report.isStruck && point.by === 'worker') goneMax += 1;
    if (gone.size > goneMax) report.faults.push(`${[...gone].join(', ')} are lost, at most ${goneMax}`);
    found.push(...report.faults.map((fault) => `${point.by} ${nameOfAny(point)}: ${fault}`));
    await waitUntil('one process reads an account', SOON_MS, () =>
      channels.every(({ incoming }) => (incoming.readers?.() ?? 0) <= 1),
    );
    isFrozen = () => false;
  }
  await Promise.all(rig.workers.map((worker) => worker.revive()));
  await playNewToken(count);
  goneMax += 1;
  found.push(...(await judge()));
  if (gone.size > goneMax) found.push(`${[...gone].join(', ')} are lost, at most ${goneMax}`);
  for (const { name } of channels) {
    const texts = [...said].filter(([chat]) => chat.startsWith(`${name} `)).flatMap(([, own]) => own);
    process.stderr.write(`Updates of ${name}: ${texts.length}\n`);
  }
  process.stderr.write(`Lost with receivers that were struck: ${gone.size} of at most ${goneMax}\n`);
  process.stderr.write(
    `Receivers were struck at ${struck} of ${points.length} points; ${checks} acknowledgements were checked\n`,
  );
  expect(found).toEqual([]);
  expect(struck).toBeGreaterThanOrEqual(Math.floor(points.length * 0.75));
});
