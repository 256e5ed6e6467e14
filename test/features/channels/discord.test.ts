// Discord through a worker: what people write there is committed before the session of the gateway
// moves, and what agents say arrives once.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { platformOf, listAccounts } from '../../../src/features/channels/accounts.ts';
import { createReader } from '../../../src/features/channels/platforms/discord-events.ts';
import { openChannels } from '../../../src/features/channels/poll-accounts.ts';
import { divideDelivery, sendPart, type PartPayload } from '../../../src/features/channels/send.ts';
import { outgoingFolder } from '../../../src/files/copies.ts';
import { createLogger } from '../../../src/logger.ts';
import type { Service } from '../../../src/kernel/use-cases/service.ts';
// prettier-ignore
import { DISCORD_BOT, startScriptedDiscord, type ScriptedDiscord } from '../../../scripted-platform/discord/scripted-discord.ts';
import { createApiRig, type ApiRig } from '../../api/api-rig.ts';
import { readBodies, readEventTexts } from '../../rows/channels.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';

const { id: BOT } = DISCORD_BOT;
const CHANNEL = '2001';
const THREAD = '2002';
const SEND = 'POST /channels/{channel}/messages';

let discord: ScriptedDiscord;
let api: ApiRig;

shareAmongTests(async (onEnd) => {
  discord = await startScriptedDiscord({ heartbeatMs: 200 });
  onEnd(() => discord.close());
  discord.setChannel({ id: CHANNEL, name: 'general' });
  discord.setChannel({ id: THREAD, name: 'a topic', parent: CHANNEL });
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const main = { token: DISCORD_BOT.token, baseUrl: discord.url, dm: 'open', groupAllow: [CHANNEL], allowFrom: ['59'] };
  const channels = { discord: { adapter: 'discord', accounts: { main } } };
  api = await createApiRig(database.url, { file: { channels, messages: { queue: { debounceMs: 0 } } } });
  onEnd(() => api.close());
});

const config = () => api.context.service.config;
const platform = () => platformOf(config(), listAccounts(config())[0]!);
const poll = <Value>(read: () => Value) => expect.poll(read, { timeout: 20_000 });
const signal = () => AbortSignal.timeout(20_000);

/** A process that reads the account until the test is over, or is stopped. */
async function startProcess(service: Service = api.context.service): Promise<{ stop: () => Promise<void> }> {
  const stopped = new AbortController();
  const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
  const identity = { id: '', name: 'host:1:test', host: 'host', pid: 1, roles: ['worker'], version: '0' };
  const { rounds = [] } = await openChannels({ service, logger, identity });
  const running = (async () => {
    while (!stopped.signal.aborted) await rounds.at(-1)!.round(stopped.signal);
  })();
  const stop = async () => {
    stopped.abort();
    await running;
  };
  onTestFinished(stop);
  await poll(() => discord.socketCount()).toBe(1);
  return { stop };
}

const textsOf = async (session: string) => (await readBodies(api, session)).map(({ text }) => text);
const inChannel = `discord:channel:${CHANNEL}`;
const inThread = `${inChannel}:thread:${THREAD}`;

describe('what people write', () => {
  test('in a direct chat, to the bot in a server, and in a thread reaches the agent, each in its session', async () => {
    await startProcess();
    const ada = { id: '50', username: 'ada', global_name: 'Ada' };
    discord.say({ from: ada, text: 'Hello <:wave:7>' });
    discord.say({ from: ada, channel: CHANNEL, text: 'Only for people' });
    const asked = discord.say({ from: ada, channel: CHANNEL, text: `<@${BOT}> /status of <@50>` });
    discord.say({ from: ada, channel: CHANNEL, text: `<@&9${BOT}> are you there?` });
    discord.say({ from: ada, channel: THREAD, text: `Here <@${BOT}>` });
    // Discord keeps the order of a channel, and a thread is another one.
    await poll(() => textsOf(inThread)).toEqual(['Here @scripted']);
    await poll(() => textsOf(inChannel)).toEqual(['/status of @Ada', 'are you there?']);
    expect(await readBodies(api, 'discord:direct:50')).toMatchObject([
      { text: 'Hello :wave:', chatId: discord.directChat('50'), sender: { id: '50', name: 'Ada', username: 'ada' } },
    ]);
    expect(await readBodies(api, inChannel)).toMatchObject([
      {
        text: '/status of @Ada',
        messageId: asked.id,
        chatId: CHANNEL,
        wasMentioned: true,
        group: { subject: 'general', space: '7000' },
        history: [{ body: 'Only for people' }],
      },
      { text: 'are you there?' },
    ]);
    expect(await readBodies(api, inThread)).toMatchObject([
      {
        chatId: CHANNEL,
        thread: { id: THREAD, label: 'a topic' },
        deliver: { url: `channel:discord/main/${CHANNEL}/${THREAD}` },
      },
    ]);
  });

  const said = { content: '/stop', attachments: [], mentions: [], mention_roles: [] };
  const snapshot = { message_reference: { type: 1 }, message_snapshots: [{ message: said }] };
  const answered = { id: '1', author: { id: '52', username: 'eve' }, content: '/new', mentions: [] };
  test.each<[string, boolean, object]>([
    ['what a person writes', true, {}],
    [
      'what a person writes with a file',
      true,
      { attachments: [{ id: '1', filename: 'a', size: 1, url: 'https://a' }] },
    ],
    ['what a person answers to another', true, { type: 19, referenced_message: answered }],
    ['what is forwarded', false, { content: '', ...snapshot }],
    ['what was changed before it was read', false, { edited_timestamp: '2026-01-01T00:00:00.000Z' }],
  ])('says whether the sender has written the text: %s', async (_how, isOwnText, facts) => {
    const { readMessage } = createReader(() => Promise.reject(new Error('nothing is asked')), BOT);
    const author = { id: '50', username: 'ada' };
    const message = { id: '1', type: 0, channel_id: '3', author, edited_timestamp: null, ...said, ...facts };
    expect(await readMessage(message as never, undefined, signal())).toMatchObject([{ text: '/stop', isOwnText }]);
  });

  test('as an answer to the bot is for the agent, with what it answers; edits and reactions are news', async () => {
    await startProcess();
    const sent = await (
      await platform()
    ).send({ chatId: CHANNEL }, { markdown: 'Shall I?', deliveryId: newId() }, signal());
    const reply = discord.say({ from: '51', channel: CHANNEL, text: 'Please do', replyTo: sent.platformId });
    await poll(async () => (await readBodies(api, inChannel)).at(-1)).toMatchObject({
      text: 'Please do',
      replyTo: { id: sent.platformId, body: 'Shall I?' },
    });
    discord.edit({ from: '51', channel: CHANNEL, messageId: reply.id, text: 'Please do not' });
    discord.react({ from: '51', channel: CHANNEL, messageId: sent.platformId, emoji: '👍' });
    discord.react({ from: '51', channel: CHANNEL, messageId: sent.platformId, emoji: '👍', isAdded: false });
    await poll(() => readEventTexts(api, inChannel)).toEqual([
      `discord message ${reply.id} by user51 (@user51) was edited. It says now: Please do not`,
      `discord reaction added: 👍 by user51 (@user51) on message ${sent.platformId}`,
      `discord reaction removed: 👍 by (51) on message ${sent.platformId}`,
    ]);
  });

  test('as an answer of a bot that may write is for the agent only if its text mentions the bot, and its reactions never are', async () => {
    await startProcess();
    const bot = { id: '59', username: 'friend', bot: true };
    const { platformId: replyTo } = await (
      await platform()
    ).send({ chatId: CHANNEL }, { markdown: 'Shall I?', deliveryId: newId() }, signal());
    const fields = [{ name: 'Branch', value: 'main' }];
    const embeds = [{ type: 'rich', title: 'Build', url: 'http://c.i', description: 'failed', fields }];
    discord.say({ from: bot, channel: CHANNEL, text: '', embeds });
    discord.say({ from: bot, channel: CHANNEL, text: 'I agree', replyTo });
    discord.say({ from: bot, channel: CHANNEL, text: `I ask <@${BOT}>`, replyTo });
    await poll(async () => (await readBodies(api, inChannel)).at(-1)).toMatchObject({
      text: 'I ask @scripted',
      history: [{ body: '[Build](http://c.i)\nfailed\nBranch: main' }, { body: 'I agree' }],
    });
    for (const isAdded of [true, false])
      discord.react({ from: bot, channel: CHANNEL, messageId: replyTo, emoji: '🤖', isAdded });
    discord.react({ from: '51', channel: CHANNEL, messageId: replyTo, emoji: '👀' });
    await poll(async () => (await readEventTexts(api, inChannel)).at(-1)).toContain('👀');
    expect((await readEventTexts(api, inChannel)).filter((text) => text.includes('🤖'))).toEqual([]);
  });

  test('reaches the agent when Discord does not say more of a server or a thread, for which it is asked again', async () => {
    // Nothing is known to the bot of these settings.
    await startProcess({ ...api.context.service, config: { ...config() } });
    // prettier-ignore
    const say = (channel: string, text: string) => discord.say({ from: '54', channel, text: `<@&9${BOT}> <@${BOT}> ${text}` });
    discord.faults.arm({ method: 'GET /guilds/{guild}/roles', status: 403 });
    say(CHANNEL, 'one');
    say(CHANNEL, 'two');
    // prettier-ignore
    await poll(async () => (await textsOf(inChannel)).slice(-2)).toEqual([`<@&9${BOT}> @scripted one`, '@scripted two']);
    discord.faults.arm({ method: 'GET /channels/{channel}', status: 403 });
    say(THREAD, 'three');
    say(THREAD, 'four');
    await poll(async () => (await textsOf(inThread)).at(-1)).toBe('@scripted four');
  });

  test('with files, and by a button, is kept: the press is answered when it is committed', async () => {
    await startProcess();
    discord.say({ from: '52', text: 'Read this', files: [{ name: 'a.txt', text: 'contents' }] });
    await poll(() => textsOf('discord:direct:52')).toEqual(['Read this']);
    const [{ media }] = (await readBodies(api, 'discord:direct:52')) as unknown as [{ media: { path: string }[] }];
    expect(media).toMatchObject([{ path: expect.stringMatching(/\.txt$/), type: 'text/plain' }]);
    const buttons = ['a', 'b', 'c', 'd', 'e', 'f'].map((value) => ({
      label: `Take ${value}`,
      value: `/take ${value}`,
    }));
    const chatId = discord.directChat('52');
    // prettier-ignore
    const { platformId } = await (await platform()).send({ chatId }, { markdown: 'Which?', buttons, deliveryId: newId() }, signal());
    expect(
      discord
        .messages(chatId)
        .at(-1)!
        .components.map((row) => (row.components as unknown[]).length),
    ).toEqual([5, 1]);
    discord.press({ from: '52', messageId: platformId, button: 'Take f' });
    await poll(() => textsOf('discord:direct:52')).toEqual(['Read this', '/take f']);
    const answers = () => discord.calls.entries.filter(({ method }) => method.startsWith('POST /interactions/'));
    await poll(() => answers().map(({ status, parameters }) => [status, parameters.type])).toEqual([[204, 6]]);
  });
});

describe('the session of the gateway', () => {
  test('is resumed after a cut, and by the next process: nothing is lost, stored twice or read from the history', async () => {
    const first = await startProcess();
    discord.say({ from: '60', text: 'Line 0' });
    await poll(() => textsOf('discord:direct:60')).toEqual(['Line 0']);
    const sessions = discord.sessionCount();
    discord.dropSockets();
    for (const n of [1, 2, 3]) discord.say({ from: '60', text: `Line ${n}` });
    await poll(() => textsOf('discord:direct:60')).toHaveLength(4);
    discord.dropSockets('reconnect');
    discord.say({ from: '60', text: 'Line 4' });
    await poll(() => textsOf('discord:direct:60')).toHaveLength(5);
    await first.stop();
    discord.disturb({ duplicate: 1 });
    for (const n of [5, 6]) discord.say({ from: '60', text: `Line ${n}` });
    await startProcess();
    // prettier-ignore
    await poll(() => textsOf('discord:direct:60')).toEqual([0, 1, 2, 3, 4, 5, 6].map((n) => `Line ${n}`));
    expect(discord.sessionCount()).toBe(sessions);
  });

  test('moves with what is committed only: what waits comes again to the next process', async () => {
    const { service } = api.context;
    const full = { ...config(), limits: { ...config().limits, waitingTotal: 0 } };
    const first = await startProcess({ ...service, config: full });
    discord.say({ from: '61', text: 'Wait' });
    await poll(() => discord.pushes.entries.at(-1)).toMatchObject({ body: { t: 'MESSAGE_CREATE' } });
    const sent = discord.pushes.entries.at(-1)!;
    // Heartbeats do not name the event.
    const heartbeats = discord.heartbeatCount();
    await poll(() => discord.heartbeatCount()).toBeGreaterThan(heartbeats + 1);
    await first.stop();
    expect([sent.status, await textsOf('discord:direct:61')]).toEqual([null, []]);
    await startProcess();
    await poll(() => textsOf('discord:direct:61')).toEqual(['Wait']);
    await poll(() => sent).toMatchObject({ status: 200 });
    expect(sent.attempt).toBeGreaterThan(1);
  });

  test('that Discord has ended is followed by a new one, after what was written between them, in order', async () => {
    await startProcess();
    discord.say({ from: '62', text: 'Before' });
    await poll(() => textsOf('discord:direct:62')).toEqual(['Before']);
    const sessions = discord.sessionCount();
    discord.dropSockets('invalid_session');
    for (const n of [1, 2]) discord.say({ from: '62', text: `Missed ${n}` });
    for (let n = 0; n < 12; n += 1) discord.say({ from: '62', channel: THREAD, text: `<@${BOT}> ${n}`, isLost: true });
    await poll(() => discord.sessionCount()).toBe(sessions + 1);
    discord.say({ from: '62', text: 'After' });
    // prettier-ignore
    await poll(() => textsOf('discord:direct:62')).toEqual(['Before', 'Missed 1', 'Missed 2', 'After']);
    await poll(async () => (await textsOf(inThread)).slice(-12)).toEqual(
      Array.from({ length: 12 }, (_, n) => String(n)),
    );
  });
});

describe('what agents say', () => {
  const part = (payload: object, isAmbiguous = false) => ({
    id: newId<string>(),
    url: `channel:discord/main/${CHANNEL}/${THREAD}`,
    payload: { type: 'reply', text: '', ...payload } as PartPayload,
    isAmbiguous,
    part: 1,
  });
  const sent = () => discord.messages(THREAD).filter(({ author }) => author.id === BOT);

  test('is sent in parts that Discord takes, to the thread, and notifies no one but the person that it answers', async () => {
    const asked = discord.say({ from: '70', channel: THREAD, text: 'Tell me all', isLost: true });
    const text = Array.from(
      { length: 90 },
      (_, n) => `Paragraph ${n} @everyone has some words, and **bold** ones.`,
    ).join('\n\n');
    const { payload } = part({ text, replyToMessageId: asked.id });
    const parts = (await divideDelivery(config(), part({}).url, payload)) as PartPayload[];
    expect(parts.length).toBeGreaterThan(2);
    for (const each of parts)
      expect((await sendPart(api.context.service, { ...part({}), payload: each }, signal())).kind).toBe('sent');
    expect(
      sent()
        .map(({ content }) => content)
        .join('\n\n'),
    ).toBe(text);
    expect(sent()[0]).toMatchObject({ type: 19, message_reference: { message_id: asked.id } });
    const { parameters } = discord.calls.entries.findLast(({ method }) => method === SEND)!;
    expect(parameters.allowed_mentions).toEqual({ parse: [], replied_user: true });
  });

  test('is one message, however often it is sent in the minutes in which Discord knows it', async () => {
    const before = sent().length;
    const once = part({ text: 'Once' });
    discord.faults.arm({ method: SEND, kind: 'accept-then-close' });
    expect(await sendPart(api.context.service, once, signal())).toEqual({
      kind: 'sent',
      platformId: sent().at(-1)!.id,
    });
    expect(await sendPart(api.context.service, { ...once, isAmbiguous: true }, signal())).toMatchObject({
      kind: 'sent',
    });
    const folder = outgoingFolder(config().runtime.dataDir);
    await mkdir(folder);
    const path = join(folder, 'copy');
    await writeFile(path, 'A report');
    const file = part({ media: [{ path, name: 'report.txt' }] });
    // prettier-ignore
    for (const isAmbiguous of [false, true]) expect((await sendPart(api.context.service, { ...file, isAmbiguous }, signal())).kind).toBe('sent');
    // prettier-ignore
    expect(sent().slice(before)).toMatchObject([{ content: 'Once' }, { attachments: [{ filename: 'report.txt', size: 8 }] }]);
    const old = { ...part({ text: 'Old' }, true), id: '01900000-0000-7000-8000-000000000000' };
    expect(await sendPart(api.context.service, old, signal())).toMatchObject({ kind: 'unknown', policy: 'resend' });
  });

  test.each([{ kind: 'close' }, { status: 403 }] as const)(
    'stays in doubt after an answer that was lost, if the repeat meets %j',
    async (fault) => {
      discord.faults.arm({ method: SEND, kind: 'accept-then-close' });
      discord.faults.arm({ method: SEND, ...fault });
      expect(await sendPart(api.context.service, part({ text: 'In doubt' }), signal())).toMatchObject({ kind: 'open' });
      discord.faults.clear();
    },
  );

  test('is not sent by a process that was suspended until another one may have it', async () => {
    const before = sent().length;
    const late = { ...part({ text: 'Late' }), sendBeforeMs: performance.now() - 1 };
    expect(await sendPart(api.context.service, late, signal())).toMatchObject({ kind: 'later', retryAfterMs: 0 });
    expect(sent()).toHaveLength(before);
  });

  test('that Discord refuses says for how long, or why', async () => {
    const failure = async (fault: object, payload: object = { text: 'x' }) => {
      discord.faults.arm({ method: SEND, ...fault });
      const result = await sendPart(api.context.service, part(payload), signal());
      discord.faults.clear();
      return result;
    };
    expect(await failure({ status: 403, description: 'Missing Access' })).toMatchObject({
      kind: 'refused',
      status: 403,
    });
    // prettier-ignore
    expect(await failure({ status: 401, description: '401: Unauthorized' })).toMatchObject({ kind: 'later', isOfAccount: true });
    const unknown = { ...part({ text: 'x' }), url: 'channel:discord/main/404' };
    // prettier-ignore
    expect(await sendPart(api.context.service, unknown, signal())).toMatchObject({ kind: 'refused', error: expect.stringContaining('Unknown Channel') });
    const limited = await failure({ retryAfter: 20 });
    expect(limited).toMatchObject({ kind: 'later', status: 429, isOfAccount: false });
    expect((limited as { retryAfterMs: number }).retryAfterMs).toBeGreaterThanOrEqual(20_000);
  });

  test('can be a reaction, an edit, or that it types; tables are shown as text', async () => {
    const to = { chatId: '2003' };
    discord.setChannel({ id: to.chatId });
    const bot = await platform();
    const table = '| a | b |\n|---|---|\n| 1 | [2][d] |\n\n[d]: http://d.e';
    const { platformId } = await bot.send(to, { markdown: table, deliveryId: newId() }, signal());
    const message = () => discord.messages('2003').at(-1)!;
    expect(message().content).toMatch(/^```\n/);
    expect(message().content).toContain('1 | 2 (http://d.e)');
    await bot.react!(to, platformId, 'thumbs_up', signal());
    expect(message().reactions).toEqual([{ emoji: { id: null, name: '👍' }, users: [BOT] }]);
    await bot.react!(to, platformId, '', signal());
    expect(message().reactions).toEqual([]);
    await bot.edit!(to, platformId, { markdown: 'Changed' }, signal());
    expect(message().content).toBe('Changed');
    await bot.showTyping!(to, signal());
  });
});

test('an account whose bot may not read texts, or lacks rights, says what to do', async () => {
  expect(await (await platform()).check!(signal())).toEqual([]);
  const strict = await startScriptedDiscord({ bots: [{ hasContentIntent: false }] });
  onTestFinished(() => strict.close());
  const { openPlatform } = await import('../../../src/features/channels/platforms/discord.ts');
  const account = { channel: 'discord', account: 'main', mode: 'socket', baseUrl: strict.url } as const;
  const bot = openPlatform({ ...account, token: DISCORD_BOT.token });
  expect(await bot.check!(signal())).toEqual([expect.stringContaining('Message Content Intent')]);
  // prettier-ignore
  await expect(bot.listen!(null, async () => {}, signal())).rejects.toMatchObject({ kind: 'unauthorized', message: expect.stringContaining('Message Content Intent') });
  // prettier-ignore
  await expect(openPlatform({ ...account, token: 'wrong' }).identify(signal())).rejects.toMatchObject({ kind: 'unauthorized' });
});
