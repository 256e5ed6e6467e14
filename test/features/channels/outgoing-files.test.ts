// Goal: what the tool `message` sends of a file is what the file had when the tool was called, on
// every platform (G41). Method: real turns call the tool, the file is exchanged for a link to
// another one before the relay sends, and what the platforms were sent is read.
import { mkdir, readdir, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RecordedCall } from '../../../scripted-platform/call-log.ts';
import type { Config } from '../../../src/config.ts';
import { fileBytesMaxOf } from '../../../src/config/agent-settings.ts';
import { formatChannelUrl } from '../../../src/core/channel-address.ts';
import { decideDelivery } from '../../../src/features/deliveries/decide.ts';
import { relayChats } from '../../../src/features/deliveries/chat-relay.ts';
import { trimCopies } from '../../../src/features/deliveries/trim-copies.ts';
import { eraseSession } from '../../../src/features/erasure/erase-session.ts';
import { outgoingFolder } from '../../../src/files/copies.ts';
import { newId } from '../../../src/ids.ts';
import { createLogger } from '../../../src/logger.ts';
import { createMessageTool } from '../../../src/tools/message-tool.ts';
import { createToolPorts } from '../../../workers/create-turn-context.ts';
import { changeChannelGates } from '../../rows/channel-gates.ts';
import { addDeliveries, changeDeliveries, readDeliveries } from '../../rows/deliveries.ts';
import { readEntries } from '../../rows/entries.ts';
import { ago, now } from '../../rows/table.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { recordedService } from '../../service/recorded-service.ts';
import { createTurnRig, type TurnRig } from '../../turn/turn-rig.ts';
import type { BarChannel } from './bars/bar-channel.ts';
import { PLATFORMS, startPlatforms } from './bars/bar-platforms.ts';

const AT_THE_CALL = 'what the file had at the call';
const SECRET = 'only outside';
const CHAT = 7;

let rig: TurnRig;
let channels: BarChannel[];
let service: ReturnType<typeof recordedService>['service'];

shareAmongTests(async (onEnd) => {
  const platforms = await startPlatforms({}, onEnd);
  channels = platforms.channels;
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, { settings: { channels: platforms.settings } });
  ({ service } = recordedService(rig));
  await mkdir(rig.config.workspace.path, { recursive: true });
  const made = rig;
  onEnd(() => made.close());
});

const adapters = Object.keys(PLATFORMS);
const channelOf = (adapter: string) => channels.find(({ settings }) => settings['adapter'] === adapter)!;
const workspaceFile = (name: string) => join(rig.config.workspace.path, name);
const copies = () => readdir(outgoingFolder(rig.config.runtime.dataDir)).catch((): string[] => []);

/** Runs a turn in the chat of a channel, in which the model sends the file. */
async function sendFile(channel: BarChannel, name: string, media: string) {
  channel.open(CHAT);
  const chatId = channel.chatId(CHAT);
  const tool = createMessageTool(
    createToolPorts({
      service,
      logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
      owner: 'test',
    }).options.message!,
  );
  const worker = rig.worker({ tools: [tool] });
  const call = JSON.stringify({ action: 'send', message: 'Here', media });
  await rig.send(name, `[[tool: message ${call}]][[reply: NO_REPLY]]`, {
    channel: channel.name,
    chatId,
    deliver: { url: formatChannelUrl({ channel: channel.name, accountId: 'main', chatId }) },
  });
  await worker.run(name);
  worker.stop();
  const sessionId = await rig.sessionOf(name);
  const [results] = await readEntries(rig, { sessionId, kind: 'results' }, 'content');
  return { sessionId, result: JSON.stringify(results?.['content']) };
}

async function relayAll(sessionId: Awaited<ReturnType<TurnRig['sessionOf']>>): Promise<void> {
  const never = new AbortController().signal;
  const relay = {
    database: rig.database,
    config: rig.config,
    owner: 'relay',
    publish: service.publish,
    random: () => 0,
    redact: (text: string) => text,
    logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
  };
  do await changeChannelGates(rig, {}, { nextAt: ago('1 minute') });
  while ((await relayChats(relay, sessionId, { signal: never, draining: never })) > 0);
}

/** All that a platform was sent, as text. */
function textOf({ parameters, files }: RecordedCall): string {
  const words = JSON.stringify(parameters).replaceAll(/(?<=;base64,)[\w+/=]+/g, (encoded) =>
    Buffer.from(encoded, 'base64').toString(),
  );
  return [words, ...files.map(({ bytes }) => bytes.toString())].join('\n');
}

test.each(adapters)('a file that is exchanged after the call is sent to %s as it was (G41)', async (adapter) => {
  const channel = channelOf(adapter);
  await writeFile(workspaceFile(`${adapter}.txt`), AT_THE_CALL);
  const outside = join(rig.config.runtime.dataDir, 'secret.txt');
  await writeFile(outside, SECRET);
  const { sessionId, result } = await sendFile(channel, `swap-${adapter}`, `${adapter}.txt`);
  expect(result).toContain('Queued');
  await rm(workspaceFile(`${adapter}.txt`));
  await symlink(outside, workspaceFile(`${adapter}.txt`));
  await relayAll(sessionId);
  expect(await readDeliveries(rig, { sessionId }, 'status')).toEqual([{ status: 'sent' }, { status: 'sent' }]);
  const sent = channel.server.calls.entries.map(textOf).join('\n');
  expect(sent).toContain(AT_THE_CALL);
  expect(sent).not.toContain(SECRET);
  await trimCopies(service);
  expect(await copies()).toEqual([]);
});

test.each(adapters)(
  'a file that is larger than %s takes is refused at the call, and nothing is copied',
  async (adapter) => {
    const channel = channelOf(adapter);
    const most = fileBytesMaxOf(rig.config, channel.name);
    const name = `large-${adapter}`;
    await writeFile(workspaceFile(name), '');
    await truncate(workspaceFile(name), most + 1);
    const { sessionId, result } = await sendFile(channel, name, name);
    expect(result).toContain(`has ${most + 1} bytes, and a file on ${channel.name} may have ${most}`);
    expect(await readDeliveries(rig, { sessionId }, 'id')).toEqual([]);
    expect(await copies()).toEqual([]);
  },
);

test('the largest file of each platform is what it takes from a bot, and no file has more than 100 MB', () => {
  const platforms = { one: { adapter: 'a-package' }, two: {}, ...rig.config.channels.platforms };
  const config = { channels: { ...rig.config.channels, platforms } } as unknown as Config;
  const mostOf = (channel: string) => fileBytesMaxOf(config, channel);
  expect(Object.fromEntries(adapters.map((adapter) => [adapter, mostOf(channelOf(adapter).name)]))).toEqual({
    telegram: 50_000_000,
    slack: 100_000_000,
    discord: 10_485_760,
    signal: 100_000_000,
  });
  expect(['one', 'two', 'unknown'].map(mostOf)).toEqual([100_000_000, 100_000_000, 100_000_000]);
});

test('a file outside the folder of copies is never sent, whatever a delivery says (G41)', async () => {
  const channel = channelOf('telegram');
  const folder = outgoingFolder(rig.config.runtime.dataDir);
  await mkdir(join(folder, 'more'), { recursive: true });
  const [secret, below, link] = [workspaceFile('secret.txt'), join(folder, 'more', 'secret.txt'), join(folder, 'link')];
  await writeFile(secret, SECRET);
  await writeFile(below, SECRET);
  await symlink(secret, link);
  const sessionId = await rig.sessionOf('outside');
  const url = formatChannelUrl({ channel: channel.name, accountId: 'main', chatId: channel.chatId(CHAT) });
  const paths = [secret, below, link, `${folder}/../outgoing/../secret.txt`, folder];
  await addDeliveries(
    rig.database.hot,
    ...paths.map((path, place) => ({
      sessionId,
      seq: place + 1,
      channel: channel.name,
      target: { url },
      payload: { type: 'message', text: '', messageIds: [], media: [{ path, name: 'a.txt' }] },
    })),
  );
  await relayAll(sessionId);
  const rows = await readDeliveries(rig, { sessionId, part: 1 }, 'status', 'lastError');
  const refused = { status: 'failed', lastError: 'The file a.txt cannot be read on the machine of this worker.' };
  expect(rows).toEqual(paths.map(() => refused));
  expect(channel.server.calls.entries.map(textOf).join()).not.toContain(SECRET);
  await rm(folder, { recursive: true });
});

describe('the copy of a file', () => {
  /**
   * A delivery with a copy, of which `change` says how it has ended; resolves with whether the copy
   * is there after the next round.
   */
  async function isKept(change: Parameters<typeof changeDeliveries>[2], more: { channel?: string } = {}) {
    const sessionId = await rig.sessionOf(`ended-${newId()}`);
    const id = newId<string>();
    const folder = outgoingFolder(rig.config.runtime.dataDir);
    const path = join(folder, id);
    await mkdir(folder, { recursive: true });
    await writeFile(path, 'x');
    const payload = { type: 'message', text: '', messageIds: [], media: [{ path, name: 'a.txt' }] };
    await addDeliveries(rig.database.hot, { id, sessionId, payload, channel: 'telegram-poll', ...more });
    // The text was sent: the file has a part of its own.
    await addDeliveries(rig.database.hot, { sessionId, part: 2, parts: 2, payload, channel: 'telegram-poll', ...more });
    await changeDeliveries(rig, { id }, { payload: { type: 'message', text: 'x' }, status: 'sent', settledAt: now });
    await changeDeliveries(rig, { sessionId, part: 2 }, change);
    await trimCopies(service);
    return (await copies()).includes(id);
  }

  test.each([
    ['waits', { status: 'pending' }, true],
    ['is being sent', { status: 'sending' }, true],
    ['was sent', { status: 'sent', settledAt: now }, false],
    ['was discarded', { status: 'discarded', settledAt: now }, false],
    ['has failed', { status: 'failed', settledAt: ago('6 days') }, true],
    ['failed a week ago', { status: 'failed', settledAt: ago('7 days') }, false],
    ['has expired', { status: 'expired', settledAt: ago('6 days') }, true],
    ['expired a week ago', { status: 'expired', settledAt: ago('7 days') }, false],
    ['may have been sent', { status: 'unknown', settledAt: ago('6 days') }, true],
    ['may have been sent a week ago', { status: 'unknown', settledAt: ago('7 days') }, false],
  ])('whose part %s: is it there after the next round', async (_, change, isThere) => {
    expect(await isKept(change)).toBe(isThere);
  });

  test('that the receiver of a webhook has acknowledged stays for an hour, so that it can be read', async () => {
    const webhook = { channel: 'webhook' };
    expect(await isKept({ status: 'sent', settledAt: ago('59 minutes') }, webhook)).toBe(true);
    expect(await isKept({ status: 'sent', settledAt: ago('1 hour') }, webhook)).toBe(false);
  });

  test('that a crash has left without a delivery, or half, goes after an hour', async () => {
    const folder = outgoingFolder(rig.config.runtime.dataDir);
    const names = [newId<string>(), `.tmp-1-${newId()}`, newId<string>(), `.tmp-2-${newId()}`];
    await mkdir(folder, { recursive: true });
    for (const name of names) await writeFile(join(folder, name), 'x');
    const old = new Date(Date.now() - 3_601_000);
    for (const name of names.slice(0, 2)) await utimes(join(folder, name), old, old);
    await trimCopies(service);
    const left = await copies();
    expect(names.map((name) => left.includes(name))).toEqual([false, false, true, true]);
  });

  test('is sent again by a redrive', async () => {
    const channel = channelOf('telegram');
    await writeFile(workspaceFile('again.txt'), 'once more');
    const { sessionId } = await sendFile(channel, 'redriven', 'again.txt');
    channel.server.faults.arm({ method: 'sendDocument', ...channel.refusal });
    await relayAll(sessionId);
    const [failed] = await readDeliveries(rig, { sessionId, status: 'failed' }, 'id');
    await trimCopies(service);
    await decideDelivery(service, failed!.id, { decision: 'redrive', idempotency: null });
    await relayAll(sessionId);
    expect(await readDeliveries(rig, { id: failed!.id }, 'status')).toEqual([{ status: 'sent' }]);
  });

  test('goes with its session', async () => {
    await writeFile(workspaceFile('private.txt'), 'private');
    await sendFile(channelOf('telegram'), 'erased', 'private.txt');
    const before = await copies();
    expect(await eraseSession(service, 'agent:main:erased')).toMatchObject({ kind: 'erased', files: 1 });
    expect((await copies()).length).toBe(before.length - 1);
  });
});
