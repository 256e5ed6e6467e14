// The adapter of Signal against the wire of signal-cli's daemon: what it reads and sends, and what
// becomes of a message when its worker stops.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  SIGNAL_NUMBER,
  startScriptedSignal,
  type ScriptedSignal,
} from '../../../scripted-platform/signal/scripted-signal.ts';
import { BOT_UUID } from '../../../scripted-platform/signal/world.ts';
import { openChannels } from '../../../src/features/channels/poll-accounts.ts';
import { PlatformError, type Platform, type Received } from '../../../src/features/channels/platform.ts';
import { openPlatform, toSignalText } from '../../../src/features/channels/platforms/signal.ts';
import type { Service } from '../../../src/kernel/use-cases/service.ts';
import { createLogger } from '../../../src/logger.ts';
import { createApiRig, type ApiRig } from '../../api/api-rig.ts';
import { changeChannelAccounts, readChannelAccounts } from '../../rows/channel-accounts.ts';
import { readBodies, readEventTexts } from '../../rows/channels.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';

const ADA = { number: '+4915100000007', uuid: '7ccae375-cd51-4c82-8b1e-7be3280aa485', name: 'Ada' };
const GROUP = 'Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=';

let signal: ScriptedSignal;
let platform: Platform;
let api: ApiRig;

shareAmongTests(async (onEnd) => {
  signal = await startScriptedSignal({ receiveSecondsMax: 0.1 });
  onEnd(() => signal.close());
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const main = { token: SIGNAL_NUMBER, baseUrl: signal.url, dm: 'open', groupAllow: [GROUP] };
  const channels = { signal: { adapter: 'signal', accounts: { main } } };
  api = await createApiRig(database.url, { file: { channels, messages: { queue: { debounceMs: 0 } } } });
  onEnd(() => api.close());
});

beforeAll(() => {
  platform = openSignal(signal.url);
});

const until = () => AbortSignal.timeout(20_000);

function openSignal(baseUrl: string): Platform {
  return openPlatform({ channel: 'signal', account: 'main', mode: 'socket', token: SIGNAL_NUMBER, baseUrl });
}

/** What the adapter reads of what is said, in `count` messages. */
async function readNext(count = 1): Promise<Received[]> {
  const read: Received[] = [];
  const stop = new AbortController();
  const commit = async (received: Received[]) => {
    read.push(...received);
    if (read.length >= count) stop.abort();
  };
  await platform.listen!(null, commit, stop.signal);
  return read;
}

/** A process that reads the account until the test is over, or is stopped. */
async function startProcess(service: Service = api.context.service): Promise<{ stop: () => Promise<void> }> {
  const stopped = new AbortController();
  const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
  const identity = { id: '', name: 'host:1:test', host: 'host', pid: 1, roles: ['worker'], version: '0' };
  const { rounds = [] } = await openChannels({ service, logger, identity });
  const running = rounds.at(-1)!.round(stopped.signal);
  const stop = async () => {
    stopped.abort();
    await running;
  };
  onTestFinished(stop);
  return { stop };
}

/** The service with another daemon and another lease. */
function serviceAt(baseUrl: string, leaseMs: number): Service {
  const { service } = api.context;
  const { channels, runtime } = service.config;
  const { signal: channel } = channels.platforms;
  const main = { ...channel!.accounts!['main']!, baseUrl };
  const platforms = { signal: { ...channel!, accounts: { main } } };
  return {
    ...service,
    config: { ...service.config, runtime: { ...runtime, leaseMs }, channels: { ...channels, platforms } },
  };
}

/** The error of what is refused. */
async function failureOf(call: Promise<unknown>): Promise<PlatformError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(PlatformError);
  return error as PlatformError;
}

const send = (chatId: string, markdown: string, own: object = {}) =>
  platform.send({ chatId }, { markdown, deliveryId: 'd1', ...own }, until());

describe('what people write', () => {
  test('is read with its author, its chat, and whether it is for the bot', async () => {
    const { timestamp } = signal.say({ from: ADA, text: 'Hello' });
    expect(await readNext()).toEqual([
      {
        kind: 'message',
        place: { chatId: ADA.uuid, chatType: 'direct' },
        sender: { id: ADA.uuid, isBot: false, name: 'Ada', e164: ADA.number },
        at: timestamp,
        messageId: `${timestamp}.${ADA.uuid}`,
        text: 'Hello',
        isOwnText: true,
        isForBot: true,
        files: [],
      },
    ]);
    signal.setGroup({ id: GROUP, name: 'Crew' });
    signal.say({ from: ADA, group: GROUP, text: 'Hello all' });
    signal.say({ from: ADA, group: GROUP, text: '@bot /stop' });
    signal.say({ from: ADA, group: GROUP, text: 'ask @bot' });
    expect(await readNext(3)).toMatchObject([
      { place: { chatId: GROUP, chatType: 'group', subject: 'Crew' }, isForBot: false, text: 'Hello all' },
      { isForBot: true, text: '/stop' },
      { isForBot: true, text: `ask @${SIGNAL_NUMBER}` },
    ]);
  });

  test('is for the bot when it answers a message of the bot, and has what it answers', async () => {
    const { platformId } = await send(GROUP, 'Which one?');
    const own = { timestamp: Number(platformId), author: SIGNAL_NUMBER };
    signal.say({ from: ADA, group: GROUP, text: 'The first', quote: own });
    const other = signal.say({ from: '+4915100000008', group: GROUP, text: 'No' });
    signal.say({
      from: ADA,
      group: GROUP,
      text: 'Why?',
      quote: { timestamp: other.timestamp, author: '+4915100000008' },
    });
    expect(await readNext(3)).toMatchObject([
      { isForBot: true, replyTo: { id: platformId, senderLabel: SIGNAL_NUMBER, body: 'Which one?' } },
      { text: 'No' },
      { isForBot: false, replyTo: { id: `${other.timestamp}.${other.author}`, body: 'No' } },
    ]);
  });

  test('is read when it is changed or reacted to, by the id of the message', async () => {
    const { timestamp } = signal.say({ from: ADA, text: 'Hallo' });
    signal.edit({ from: ADA, timestamp, text: 'Hello' });
    const { platformId } = await send(ADA.uuid, 'Hi');
    signal.react({ from: ADA, timestamp: Number(platformId), author: SIGNAL_NUMBER, emoji: '👍' });
    signal.react({ from: ADA, timestamp, emoji: '👀', isAdded: false });
    expect(await readNext(4)).toMatchObject([
      { kind: 'message' },
      { kind: 'edit', messageId: `${timestamp}.${ADA.uuid}`, text: 'Hello', isOwnText: false },
      { kind: 'reaction', messageId: platformId, emoji: '👍', isAdded: true },
      { kind: 'reaction', messageId: `${timestamp}.${ADA.uuid}`, emoji: '👀', isAdded: false },
    ]);
  });

  test('can have files, which are downloaded up to a limit', async () => {
    const bytes = Buffer.from('a picture');
    signal.say({ from: ADA, files: [{ name: 'a.png', type: 'image/png', base64: bytes.toString('base64') }] });
    const [message] = await readNext();
    const [file] = (message as { files: { id: string }[] }).files;
    expect(file).toMatchObject({ name: 'a.png', type: 'image/png', bytes: bytes.length });
    expect(await platform.download!(file!, 9, until())).toEqual({ bytes });
    expect(await failureOf(platform.download!(file!, 8, until()))).toMatchObject({ kind: 'refused' });
    expect(await failureOf(platform.download!({ id: file!.id }, 8, until()))).toMatchObject({ kind: 'refused' });
  });
});

describe('what agents say', () => {
  test('has the styles of its markdown, and is sent as one message', async () => {
    const markdown = '# Plan\n\nA **b _c_** ~~d~~ `e` ||f|| [g](https://h.example)\n\n- 😀 **i**\n  1. j\n\n> k\n> l';
    const { platformId } = await send(ADA.uuid, markdown, { replyToMessageId: `1.${ADA.uuid}` });
    const sent = signal.messages(ADA.number).at(-1)!;
    expect(sent).toMatchObject({ timestamp: Number(platformId), quote: { timestamp: 1, author: ADA.uuid } });
    expect(sent.text).toBe('Plan\n\nA b c d e f g (https://h.example)\n\n• 😀 i\n  1. j\n\n> k\n> l');
    const marked = sent.styles.map((style) => {
      const [start = 0, length = 0] = style.split(':').map(Number);
      return `${style.split(':')[2]} ${sent.text.slice(start, start + length)}`;
    });
    expect(marked).toEqual([
      'BOLD Plan',
      'ITALIC c',
      'BOLD b c',
      'STRIKETHROUGH d',
      'MONOSPACE e',
      'SPOILER f',
      'BOLD i',
    ]);
    await platform.edit!({ chatId: ADA.uuid }, platformId, { markdown: '**Done**' }, until());
    expect(signal.messages(ADA.number).at(-1)).toMatchObject({ text: 'Done', isEdited: true, styles: ['0:4:BOLD'] });
    expect(platform.textLimit).toMatchObject({ max: 2_000 });
    expect(platform.textLimit.measure('**ä**')).toBe(2);
    expect(toSignalText('- ')).toEqual({ text: '• ', styles: [] });
    expect(toSignalText('[a][1], [2][], [3]\n\n- [x] b[^c]\n\n[1]: http://d.e\n[2]: http://f.g\n\n[^c]: h').text).toBe(
      'a (http://d.e), 2 (http://f.g), [3]\n\n• ☑ b[c]\n\n[c] h',
    );
  });

  test('can be a file, a reaction, and typing', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'holdfast-signal-')), 'x');
    await writeFile(path, 'Hello');
    await send(GROUP, '', { file: { path, name: 'Bericht; 1,5 %.txt', type: 'text/plain' } });
    expect(signal.messages(GROUP).at(-1)).toMatchObject({
      text: '',
      files: [{ name: 'Bericht; 1,5 %.txt', type: 'text/plain', bytes: 5 }],
    });
    const { timestamp } = signal.say({ from: ADA, group: GROUP, text: 'Hello' });
    const react = (emoji: string) => platform.react!({ chatId: GROUP }, `${timestamp}.${ADA.uuid}`, emoji, until());
    await react('👍');
    expect(signal.messages(GROUP).at(-1)?.reactions).toEqual({ [BOT_UUID]: '👍' });
    await react('');
    expect(signal.messages(GROUP).at(-1)?.reactions).toEqual({});
    await platform.showTyping!({ chatId: GROUP }, until());
    expect(signal.calls.entries.at(-1)).toMatchObject({ method: 'sendTyping', isDone: true });
    await readNext();
  });

  test('is refused, or sent later, or perhaps sent, as signal-cli says', async () => {
    const failed = async (fault: object) => {
      signal.faults.arm({ method: 'send', ...fault });
      return failureOf(send(ADA.uuid, 'Hello'));
    };
    const refused = (description: string) => failed({ status: 200, description });
    expect(await refused('-4 Failed to send message due to untrusted identities')).toMatchObject({ kind: 'refused' });
    expect(await refused('-1 Failed to send message')).toMatchObject({ kind: 'refused' });
    expect(await refused('-32602 Specified account does not exist')).toMatchObject({ kind: 'unauthorized' });
    expect(await refused('-32603 Failed to send message: timeout (UnexpectedErrorException)')).toMatchObject({
      kind: 'unknown',
    });
    expect(await failed({ retryAfter: 1 })).toMatchObject({ kind: 'later', retryAfterMs: 1_000, isOfAccount: true });
    signal.faults.clear();
    expect(await failed({ kind: 'accept-then-close' })).toMatchObject({ kind: 'unknown' });
    expect(await failed({ status: 502 })).toMatchObject({ kind: 'unknown', status: 502 });
    // fetch repeats such a request by itself.
    expect(await failed({ status: 421, times: 2 })).toMatchObject({ kind: 'unauthorized' });
    expect(await failureOf(send('+4999999999', 'Hello'))).toMatchObject({ kind: 'refused' });
    expect(await failureOf(send('AAAA=', 'Hello'))).toMatchObject({ kind: 'refused' });
    const gone = await startScriptedSignal();
    await gone.close();
    const lost = openSignal(gone.url);
    expect(await failureOf(lost.identify(until()))).toMatchObject({ kind: 'later' });
  });
});

describe('a worker', () => {
  const texts = async (session: string) => (await readBodies(api, session)).map(({ text }) => text);
  const callsOf = (name: string) => signal.calls.entries.filter(({ method }) => method === name);
  const receiptsTo = (author: string) => callsOf('sendReceipt').filter(({ chat }) => chat === author);

  test('commits what it has received, in order, and then tells the sender that it was read', async () => {
    const from = '+4915100000020';
    const { author } = signal.say({ from, text: 'Line 0' });
    await startProcess();
    for (let n = 1; n < 20; n += 1) signal.say({ from, text: `Line ${n}` });
    signal.disturb({ duplicate: 1 });
    signal.say({ from, text: 'Line 20' });
    await expect.poll(() => texts(`signal:direct:${author}`)).toHaveLength(21);
    expect(await texts(`signal:direct:${author}`)).toEqual(Array.from({ length: 21 }, (_, n) => `Line ${n}`));
    await expect.poll(() => receiptsTo(author)).toHaveLength(22);
    signal.edit({ from, timestamp: signal.messages(from)[0]!.timestamp, text: 'Line zero' });
    await expect
      .poll(() => readEventTexts(api, `signal:direct:${author}`))
      .toEqual([expect.stringContaining('was edited. It says now: Line zero')]);
  });

  test('tells no sender that a message was read which no agent gets', async () => {
    const stranger = signal.say({ from: '+4915100000023', group: 'BBBB=', text: '@bot Hello' });
    const { author } = signal.say({ from: '+4915100000024', text: 'Hello' });
    await startProcess();
    await expect.poll(() => receiptsTo(author)).toHaveLength(1);
    expect(receiptsTo(stranger.author)).toEqual([]);
  });

  test('notes when something was received, and not when nothing was', async () => {
    // prettier-ignore
    const readAt = async () => (await readChannelAccounts(api, { channel: 'signal' }, 'lastReceivedAt'))[0]?.lastReceivedAt;
    const received = async (times: number) => {
      const before = callsOf('receive').length;
      await expect.poll(() => callsOf('receive').length).toBeGreaterThan(before + times);
    };
    await startProcess();
    const { author } = signal.say({ from: '+4915100000025', text: 'Hello' });
    await expect.poll(() => texts(`signal:direct:${author}`)).toEqual(['Hello']);
    await received(1);
    const at = await readAt();
    expect(at).toBeInstanceOf(Date);
    await received(3);
    expect(await readAt()).toEqual(at);
  });

  test('commits a message when it can, because signal-cli does not hand it over again', async () => {
    // The process asks twice before it reads, and then for who the bot is.
    signal.faults.arm({ method: 'listAccounts', status: 502, after: 2 });
    const { author } = signal.say({ from: '+4915100000026', text: 'Hello' });
    await startProcess();
    await expect.poll(() => texts(`signal:direct:${author}`), { timeout: 10_000 }).toEqual(['Hello']);
    expect(callsOf('listAccounts').at(-2)).toMatchObject({ status: 502 });
  });

  test('commits the message that it is waiting for when the account is paused and its lease ends', async () => {
    const slow = await startScriptedSignal();
    onTestFinished(() => slow.close());
    await startProcess(serviceAt(slow.url, 2_000));
    await expect.poll(() => slow.isReceiving()).toBe(true);
    const account = { channel: 'signal' };
    onTestFinished(() => changeChannelAccounts(api, account, { isPaused: false }));
    await changeChannelAccounts(api, account, { isPaused: true });
    const lease = async () => (await readChannelAccounts(api, account, 'leaseExpiresAt'))[0]?.leaseExpiresAt;
    await expect.poll(async () => (await lease())! < new Date(), { timeout: 8_000 }).toBe(true);
    const { author } = slow.say({ from: '+4915100000027', text: 'During the pause' });
    await expect.poll(() => texts(`signal:direct:${author}`)).toEqual(['During the pause']);
    expect(slow.isReceiving()).toBe(false);
  });

  test('that is stopped commits the message that it is waiting for, and takes no other one', async () => {
    const from = '+4915100000021';
    const first = await startProcess();
    const receives = () => signal.calls.entries.filter(({ method, status }) => method === 'receive' && status === null);
    await expect.poll(receives).toHaveLength(1);
    const stopped = first.stop();
    const { author } = signal.say({ from, text: 'One' });
    signal.say({ from, text: 'Two' });
    await stopped;
    expect(await texts(`signal:direct:${author}`)).toEqual(['One']);
    expect(signal.waiting()).toHaveLength(1);
    await startProcess();
    await expect.poll(() => texts(`signal:direct:${author}`)).toEqual(['One', 'Two']);
  });

  test('loses at most the one message that signal-cli has handed over to a connection that is cut', async () => {
    const from = '+4915100000022';
    signal.faults.arm({ method: 'receive', kind: 'accept-then-close' });
    const lines = Array.from({ length: 5 }, (_, n) => signal.say({ from, text: `Line ${n}` }));
    await startProcess();
    await expect.poll(() => texts(`signal:direct:${lines[0]!.author}`), { timeout: 10_000 }).toHaveLength(4);
    expect(await texts(`signal:direct:${lines[0]!.author}`)).toEqual(['Line 1', 'Line 2', 'Line 3', 'Line 4']);
  });

  test('reports that another program receives the messages of the account', async () => {
    signal.faults.arm({
      method: 'receive',
      status: 200,
      description: '-1 Receive command cannot be used if messages are already being received.',
    });
    await expect(readNext()).rejects.toThrow('Start the daemon with --receive-mode=manual');
  });
});
