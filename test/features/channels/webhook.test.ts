// What people write on Telegram, pushed to the webhook: it is committed before the push is
// answered, whatever comes twice is kept once, and a request without the secret is believed nothing
// (G1, G2, G32).
import { createHash } from 'node:crypto';
import { access, readFile, utimes } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { findAccount } from '../../../src/features/channels/accounts.ts';
import { letAlbumsArrive, createReceive } from '../../../src/features/channels/receive.ts';
import type { ReceivedMessage } from '../../../src/features/channels/platform.ts';
import { createUpdateReader } from '../../../src/features/channels/platforms/telegram-updates.ts';
import { trimFiles } from '../../../src/features/channels/message-body.ts';
import type { SessionKey } from '../../../src/core/ids.ts';
import { deliverDue } from '../../../src/kernel/use-cases/deliver-delayed.ts';
import { createLogger } from '../../../src/logger.ts';
import { countOfChat, pauseTelegram, readEventData } from '../../rows/channels.ts';
import { changeInputs, readInputs } from '../../rows/inputs.ts';
import { ago } from '../../rows/table.ts';
import { BOT, GROUP, SECRET, updateOf, useChannelRig, WEBHOOK } from './channel-rig.ts';

/** A bot that may write. */
const FRIEND = 77;
const holder = useChannelRig({ own: { allowFrom: [String(FRIEND)] } });

let people = 100;
const newPerson = () => (people += 1);

/** A person writes; the update is pushed. */
async function write(saying: { from: number; text?: string; [more: string]: unknown }) {
  const message = holder.rig.telegram.say(saying as never);
  return { message, status: await holder.rig.push(updateOf(message)) };
}

describe('a message in a direct chat', () => {
  test('is in the inbox of the session of its person when the push is answered, and its reply is a delivery to the chat', async () => {
    const { rig } = holder;
    const from = newPerson();
    const { message, status } = await write({ from, text: 'Hello [[reply: Hi.]]' });
    expect(status).toBe(200);
    const [body] = await rig.messages(`telegram:direct:${from}`);
    expect(body).toMatchObject({
      text: 'Hello [[reply: Hi.]]',
      channel: 'telegram',
      accountId: 'main',
      chatId: String(from),
      chatType: 'direct',
      provider: 'telegram',
      messageId: `${BOT}.${message.message_id}`,
      sender: { id: String(from), name: `Person ${from}` },
      deliver: { url: `channel:telegram/main/${from}` },
    });
    expect(body).not.toHaveProperty('group');
    await rig.api.work(`telegram:direct:${from}`);
    const { items } = (await rig.api.get(`/v1/deliveries?session=telegram:direct:${from}`)).body;
    expect(items).toMatchObject([
      { channel: 'telegram', target: { url: `channel:telegram/main/${from}` }, payload: { text: 'Hi.' } },
    ]);
  });

  test('that is pushed again is answered and kept once, at the same time too (G2)', async () => {
    const { rig } = holder;
    const from = newPerson();
    const update = updateOf(rig.telegram.say({ from, text: 'Once' }));
    const statuses = await Promise.all(Array.from({ length: 8 }, () => rig.push(update)));
    expect(new Set([...statuses, await rig.push(update)])).toEqual(new Set([200]));
    expect(await rig.messages(`telegram:direct:${from}`)).toHaveLength(1);
  });

  test('is in the order in which the pushes arrived', async () => {
    const { rig } = holder;
    const from = newPerson();
    const said = Array.from({ length: 30 }, (_, n) => updateOf(rig.telegram.say({ from, text: `Line ${n}` })));
    await Promise.all(said.map((update) => rig.push(update)));
    const kept = await rig.messages(`telegram:direct:${from}`);
    expect(kept.map(({ text }) => text)).toEqual(said.map((_, n) => `Line ${n}`));
  });

  test('has its file, which is downloaded, and says so if a file was not', async () => {
    const { rig } = holder;
    const from = newPerson();
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    await write({ from, text: 'Look', files: [{ kind: 'document', name: 'a.png', type: 'text/plain', bytes: png }] });
    rig.telegram.faults.arm({ method: 'getFile', status: 400, description: 'Bad Request: file is too big' });
    await write({ from, text: 'And this', files: [{ kind: 'document', name: 'b.zip', text: 'zip' }] });
    const [first, second] = await rig.messages(`telegram:direct:${from}`);
    expect(first?.['media']).toEqual([{ path: expect.stringMatching(/\.png$/), type: 'image/png' }]);
    const { media } = first as { media: { path: string }[] };
    expect(await readFile(media[0]!.path)).toEqual(png);
    expect(second?.['text']).toMatch(/^And this\n\[A file of this message was not kept: .*file is too big/);
    expect(second).not.toHaveProperty('media');
  });

  test('loses its file when its session is erased', async () => {
    const { rig } = holder;
    const from = newPerson();
    await write({ from, text: 'Look', files: [{ kind: 'document', name: 'a.txt', text: 'private' }] });
    const [{ media } = { media: [] }] = (await rig.messages(`telegram:direct:${from}`)) as {
      media: { path: string }[];
    }[];
    expect(await readFile(media[0]!.path, 'utf8')).toBe('private');
    const erased = await rig.api.ask('DELETE', `/v1/sessions/telegram:direct:${from}`);
    expect([erased.status, erased.body.files]).toEqual([200, 1]);
    await expect(readFile(media[0]!.path)).rejects.toThrow('ENOENT');
  });

  test('loses its file when messages of its age are deleted, unless it is not answered yet', async () => {
    const { rig } = holder;
    const { service } = rig.api.context;
    const [answered, waiting] = [newPerson(), newPerson()];
    const paths: string[] = [];
    for (const from of [answered, waiting]) {
      await write({ from, text: 'Look', files: [{ kind: 'document', name: 'a.txt', text: 'private' }] });
      const [body] = (await rig.messages(`telegram:direct:${from}`)) as unknown as [{ media: { path: string }[] }];
      paths.push(body.media[0]!.path);
    }
    await rig.api.work(`telegram:direct:${answered}`);
    const keep = (kept: { messages?: number }) =>
      trimFiles({ ...service, config: { ...service.config, retention: { ...service.config.retention, ...kept } } });
    const areThere = async () =>
      Promise.all(
        paths.map((path) =>
          access(path).then(
            () => true,
            () => false,
          ),
        ),
      );
    await keep({});
    await keep({ messages: 600_000 });
    expect(await areThere()).toEqual([true, true]);
    const old = new Date(Date.now() - 601_000);
    for (const path of paths) await utimes(path, old, old);
    await keep({ messages: 600_000 });
    expect(await areThere()).toEqual([false, true]);
  });

  test('tells what it answers and where it comes from', async () => {
    const { rig } = holder;
    const from = newPerson();
    const { message } = await write({ from, text: 'First' });
    await write({ from, text: 'Second', replyTo: message.message_id });
    await write({ from, text: 'Third', forwardedFrom: { id: 9, first_name: 'Ida', username: 'ida' } });
    const [, second, third] = await rig.messages(`telegram:direct:${from}`);
    expect(second).toMatchObject({ replyTo: { id: `${BOT}.${message.message_id}`, body: 'First' } });
    expect(third).toMatchObject({ forwarded: { type: 'user', from: 'Ida', username: 'ida' } });
  });

  const eve = { id: 9, first_name: 'Eve' };
  const file = [{ kind: 'document', name: 'a.txt', text: 'x' }];
  const quote = { type: 'expandable_blockquote', offset: 0, length: 5 };
  test.each<[string, boolean, object, object?]>([
    ['is what a person writes', true, {}],
    ['is the caption of a file of the person', true, { files: file }],
    [
      'answers what another wrote',
      true,
      {},
      { reply_to_message: { message_id: 1, date: 1, chat: eve, from: eve, text: 'No' } },
    ],
    ['is forwarded', false, { forwardedFrom: eve }],
    ['is the caption of a file that is forwarded', false, { forwardedFrom: eve, files: file }],
    [
      'is of a channel that is forwarded',
      false,
      {},
      { forward_origin: { type: 'channel', chat: { id: -9, title: 'News', type: 'channel' }, message_id: 1, date: 1 } },
    ],
    ['is written by a bot for the person', false, {}, { via_bot: { id: 8, is_bot: true, first_name: 'Bot' } }],
    [
      'is sent by a bot of a business account',
      false,
      {},
      { sender_business_bot: { id: 8, is_bot: true, first_name: 'Bot' } },
    ],
    ['is quoted', false, {}, { entities: [quote] }],
    ['was changed before it came', false, {}, { edit_date: 1 }],
  ])('that is "/stop" and %s is a command: %s', async (_how, isCommand, saying, facts = {}) => {
    const { rig } = holder;
    const from = newPerson();
    const message = rig.telegram.say({ from, text: '/stop', ...saying });
    expect(await rig.push(updateOf({ ...message, ...facts }))).toBe(200);
    const { items } = (await rig.api.get(`/v1/messages?session=telegram:direct:${from}`)).body;
    // A command is answered when it is accepted.
    expect(items).toMatchObject([{ status: isCommand ? 'answered' : 'waiting' }]);
  });

  test('that is a contact has no words of its sender', async () => {
    const { rig } = holder;
    const from = newPerson();
    const contact = { first_name: 'Use /queue', last_name: 'interrupt', phone_number: '+49' };
    const { entities: _none, ...message } = rig.telegram.say({ from, text: 'x' });
    expect(await rig.push(updateOf({ ...message, text: undefined, contact }))).toBe(200);
    const [body] = await rig.messages(`telegram:direct:${from}`);
    expect(body).toMatchObject({ text: '👤 Use /queue interrupt +49', isOwnText: false });
  });

  test('shows what is a quote in it', async () => {
    const { rig } = holder;
    const from = newPerson();
    const text = 'He said\nGo on\nand now\nDo you?';
    const entities = [
      { type: 'blockquote', offset: 8, length: 13 },
      { type: 'bold', offset: 8, length: 2 },
      { type: 'italic', offset: 22, length: 2 },
    ];
    expect(await rig.push(updateOf({ ...rig.telegram.say({ from, text }), entities }))).toBe(200);
    expect(await rig.messages(`telegram:direct:${from}`)).toMatchObject([
      { text: 'He said\n> **Go** on\n> and now\n*Do* you?' },
    ]);
  });

  test('that is edited, or gets a reaction, is an event of its session, once', async () => {
    const { rig } = holder;
    const from = newPerson();
    const { message } = await write({ from, text: 'Meet at 5' });
    const edited = updateOf(
      rig.telegram.edit({ from, messageId: message.message_id, text: 'Meet at 6' }),
      'edited_message',
    );
    const reaction = {
      update_id: 7,
      message_reaction: {
        chat: message.chat,
        message_id: message.message_id,
        user: message.from,
        date: 1,
        old_reaction: [],
        new_reaction: [{ type: 'emoji', emoji: '👍' }],
      },
    };
    for (const update of [edited, reaction, edited, reaction]) expect(await rig.push(update)).toBe(200);
    expect(await rig.messages(`telegram:direct:${from}`)).toHaveLength(1);
    const id = `${BOT}.${message.message_id}`;
    expect(await rig.events(`telegram:direct:${from}`)).toEqual([
      `telegram message ${id} by Person ${from} (${from}) was edited. It says now: Meet at 6`,
      `telegram reaction added: 👍 by Person ${from} (${from}) on message ${id}`,
    ]);
    const said = await readEventData(rig.api, 'reaction.received');
    expect(said).toEqual([
      {
        channel: 'telegram',
        accountId: 'main',
        chatId: String(from),
        messageId: id,
        emoji: '👍',
        isAdded: true,
        senderId: String(from),
      },
    ]);
  });
});

describe('an album', () => {
  const photo = { kind: 'photo', name: 'a.jpg', type: 'image/jpeg', text: 'picture' };
  const files = [photo, photo, photo];

  /** The updates of what a person sends with several files. */
  function albumOf(
    saying: { from: number; text?: string; [more: string]: unknown },
    chat: number = saying.from,
  ): object[] {
    const { media_group_id: album } = holder.rig.telegram.say({ ...saying, files } as never);
    const messages = holder.rig.telegram.messages(chat).filter((message) => message['media_group_id'] === album);
    return messages.map((message) => updateOf(message));
  }

  const pushAll = async (updates: object[]) => {
    for (const update of updates) expect(await holder.rig.push(update)).toBe(200);
  };
  const messages = async (session: string) =>
    (await holder.rig.messages(session)).map(({ text, media }) => [
      text,
      ((media as object[] | undefined) ?? []).length,
    ]);

  test('is one message with all files, each kept when its push is answered, once (G2, G38)', async () => {
    const { rig } = holder;
    const from = newPerson();
    const [first, ...others] = albumOf({ from, text: 'Look' });
    await pushAll([first!]);
    expect(await messages(`telegram:direct:${from}`)).toEqual([['Look', 1]]);
    await pushAll([...others, first!, ...others]);
    expect(await messages(`telegram:direct:${from}`)).toEqual([['Look', 3]]);
    const [album] = await readInputs(rig.api, { sessionKey: `agent:main:telegram:direct:${from}` }, 'id', 'status');
    expect(album?.status).toBe('delayed');
    await changeInputs(rig.api, { id: album!.id }, { deliverAt: ago('1 second') });
    await deliverDue(rig.api.context.service);
    await pushAll([first!, ...others]);
    await rig.api.work(`telegram:direct:${from}`);
    const { items } = (await rig.api.get(`/v1/turns?session=telegram:direct:${from}`)).body;
    expect(items).toMatchObject([{ status: 'completed' }]);
  });

  test('is one message if two processes are sent it at the same time', async () => {
    const { service } = holder.rig.api.context;
    const from = newPerson();
    const [first, ...others] = albumOf({ from, text: 'Look' });
    const account = findAccount(service.config, 'telegram', 'main')!;
    const reader = createUpdateReader({ id: BOT, username: 'scripted_bot' });
    const receivers = [1, 2].map(() =>
      createReceive({ service, logger: createLogger({ level: 'silent', format: 'json', name: 'test' }) }),
    );
    for (const update of [first!, ...others])
      await Promise.all(receivers.map((receive) => receive(account, reader(update as never))));
    expect(await messages(`telegram:direct:${from}`)).toEqual([['Look', 3]]);
  });

  test('waits on if a second process comes to its first message after it was stored', async () => {
    const { service } = holder.rig.api.context;
    const from = newPerson();
    const [first, ...others] = albumOf({ from, text: 'Look' });
    await pushAll([first!]);
    const account = findAccount(service.config, 'telegram', 'main')!;
    const [message] = createUpdateReader({ id: BOT, username: 'scripted_bot' })(first as never);
    const sessionKey = `agent:main:telegram:direct:${from}` as SessionKey;
    await letAlbumsArrive(service, { account, sessionKey }, message as ReceivedMessage);
    await pushAll(others);
    expect(await messages(`telegram:direct:${from}`)).toEqual([['Look', 3]]);
  });

  test('arrives before what is written after it', async () => {
    const from = newPerson();
    await pushAll(albumOf({ from }));
    await pushAll(albumOf({ from, text: 'More' }));
    await write({ from, text: 'Which?' });
    expect(await messages(`telegram:direct:${from}`)).toEqual([
      ['', 3],
      ['More', 3],
      ['Which?', 0],
    ]);
  });

  test('of which a part comes too late has a message more, and loses nothing', async () => {
    const from = newPerson();
    const [first, second, third] = albumOf({ from, text: 'Look' });
    await pushAll([first!, second!]);
    await write({ from, text: 'Well?' });
    await pushAll([third!, third!]);
    expect(await messages(`telegram:direct:${from}`)).toEqual([
      ['Look', 2],
      ['Well?', 0],
      ['', 1],
    ]);
  });

  test('in a group is for the bot if its words mention it', async () => {
    await pushAll(albumOf({ from: 5, chat: { id: GROUP }, threadId: 35, text: '@scripted_bot look' }, GROUP));
    expect(await messages(`telegram:group:${GROUP}:thread:35`)).toEqual([['@scripted_bot look', 3]]);
  });

  test('whose words are a command is one, and a forwarded one is none', async () => {
    const { rig } = holder;
    const from = newPerson();
    await pushAll(albumOf({ from, text: '/status' }));
    expect(await messages(`telegram:direct:${from}`)).toEqual([
      ['/status', 1],
      ['', 2],
    ]);
    const [first, ...others] = albumOf({ from, forwardedFrom: 9, text: '/status' });
    await pushAll([first!, ...others]);
    expect((await rig.messages(`telegram:direct:${from}`)).at(-1)).toMatchObject({ text: '/status', isOwnText: false });
  });
});

describe('a message in a group', () => {
  test('that does not mention the bot is the history of the next one that does, once', async () => {
    const { rig } = holder;
    const chat = { id: GROUP, title: 'Team' };
    const threadId = 31;
    for (const text of ['Lunch?', 'Pizza.']) await write({ from: 5, chat, threadId, text });
    await write({ from: 6, chat, threadId: 32, text: 'Elsewhere.' });
    await write({ from: 5, chat, threadId, text: '@scripted_bot where?' });
    await write({ from: 5, chat, threadId, text: '@scripted_bot and when?' });
    const [first, second] = await rig.messages(`telegram:group:${GROUP}:thread:${threadId}`);
    expect(first).toMatchObject({
      wasMentioned: true,
      group: { subject: 'Team' },
      conversationLabel: `Team id:${GROUP}`,
      thread: { id: String(threadId) },
      history: [{ body: 'Lunch?' }, { body: 'Pizza.' }],
      deliver: { url: `channel:telegram/main/${GROUP}/${threadId}` },
    });
    expect(second).not.toHaveProperty('history');
  });

  test('of a bot that may write is for the agent 20 times an hour, and only if its text mentions the bot, so two bots do not talk without end', async () => {
    const { rig } = holder;
    const bot = { id: FRIEND, first_name: 'Friend', is_bot: true };
    const where = { chat: { id: GROUP, title: 'Team' }, threadId: 33 };
    const from = (text: string, more: object = {}) =>
      updateOf({ ...rig.telegram.say({ from: 5, text, ...where }), from: bot, ...more });
    // prettier-ignore
    const answered = { ...rig.telegram.say({ from: 5, text: 'Hello', ...where }), from: { id: Number(BOT), first_name: 'Own', is_bot: true } };
    expect(await rig.push(from('I agree.', { reply_to_message: answered }))).toBe(200);
    const asked = Array.from({ length: 22 }, (_, n) => from(`@scripted_bot ${n}?`));
    for (const update of asked) expect(await rig.push(update)).toBe(200);
    const session = `telegram:group:${GROUP}:thread:33`;
    const texts = async () => (await rig.messages(session)).map(({ text }) => text);
    const heard = Array.from({ length: 20 }, (_, n) => `@scripted_bot ${n}?`);
    expect(await texts()).toEqual(heard);
    expect((await rig.messages(session))[0]).toMatchObject({ history: [{ body: 'I agree.' }] });
    await write({ from: 5, ...where, text: '@scripted_bot and me?' });
    expect((await rig.messages(session)).at(-1)).toMatchObject({
      text: '@scripted_bot and me?',
      history: [{ body: '@scripted_bot 20?' }, { body: '@scripted_bot 21?' }],
    });
    // One that was heard, again.
    expect(await rig.push(asked[19]!)).toBe(200);
    await write({ from: 5, ...where, text: '@scripted_bot and now?' });
    expect((await rig.messages(session)).at(-1)).not.toHaveProperty('history');
  });

  test('in a group that is not allowed is for no agent, whatever the group is called', async () => {
    const { rig } = holder;
    const other = GROUP - 1;
    await write({ from: 5, chat: { id: other, title: `Group ${GROUP}` }, text: '@scripted_bot hello' });
    expect(await countOfChat(rig.api, String(other))).toBe(0);
  });
});

test('while the account is paused, a push is 503, and Telegram sends it again later', async () => {
  const { rig } = holder;
  const from = newPerson();
  await pauseTelegram(rig.api, true);
  const update = updateOf(rig.telegram.say({ from, text: 'Later' }));
  expect(await rig.push(update)).toBe(503);
  await pauseTelegram(rig.api, false);
  expect(await rig.push(update)).toBe(200);
  expect(await rig.messages(`telegram:direct:${from}`)).toHaveLength(1);
});

describe('a press of a button', () => {
  test('says what the button was sent with, once, and is answered', async () => {
    const { rig } = holder;
    const from = newPerson();
    const { message } = await write({ from, text: 'Choose for me' });
    const update = {
      update_id: 9,
      callback_query: {
        id: 'press-x',
        from: message.from,
        message,
        chat_instance: '1',
        data: 'option 2 /queue interrupt',
      },
    };
    for (const again of [update, update]) expect(await rig.push(again)).toBe(200);
    const kept = await rig.messages(`telegram:direct:${from}`);
    // An agent has sent the button: no word of it is a command.
    expect(kept.map(({ text }) => text)).toEqual(['Choose for me', 'option 2 /queue interrupt']);
    await expect
      .poll(() => rig.telegram.calls.entries.some(({ method }) => method === 'answerCallbackQuery'))
      .toBe(true);
  });
});

test('40 requests without the secret are refused before they are parsed, and nothing of them is stored (G32)', async () => {
  const { rig } = holder;
  const message = rig.telegram.say({ from: newPerson(), text: 'Forged' });
  const hash = createHash('sha256').update(SECRET).digest('hex');
  const wrong = [
    '', ' ', 'secret', SECRET.slice(1), SECRET.slice(0, -1), `${SECRET} x`, `${SECRET}x`, `x${SECRET}`, SECRET.toUpperCase(),
    SECRET.replace('-', '_'), `"${SECRET}"`, `Bearer ${SECRET}`, hash, Buffer.from(SECRET).toString('base64'), encodeURIComponent(`${SECRET}%`),
    'null', 'undefined', 'true', '0', '*', `${SECRET},${SECRET}`, `${SECRET};`, SECRET.split('').toReversed().join(''), 'secretToken',
  ]; // prettier-ignore
  const header = 'x-telegram-bot-api-secret-token';
  const requests: { headers: Record<string, string>; payload: string | object; url?: string }[] = [
    ...wrong.map((value) => ({ headers: { [header]: value }, payload: updateOf(message) })),
    ...['authorization', 'x-secret-token', 'x-telegram-bot-api-secret', 'cookie', 'x-api-key'].map((name) => ({
      headers: { [name]: SECRET },
      payload: updateOf(message),
    })),
    { headers: {}, payload: updateOf(message) },
    { headers: {}, payload: { ...updateOf(message), secret_token: SECRET } },
    { headers: {}, payload: updateOf(message), url: `${WEBHOOK}?secret_token=${SECRET}` },
    ...['{', '[]', 'null', '{"update_id": 1', '', '"text"', '\u0000', '{"update_id":{}}'].map((payload) => ({
      headers: { 'content-type': 'application/json' },
      payload,
    })),
  ];
  expect(requests).toHaveLength(40);
  for (const { url = WEBHOOK, headers, payload } of requests) {
    const answer = await rig.api.app.inject({ method: 'POST', url, headers, payload });
    // The route has no parameters of a query.
    expect([answer.statusCode, answer.payload.includes(SECRET)]).toEqual([url === WEBHOOK ? 401 : 400, false]);
  }
  expect(await rig.messages(`telegram:direct:${message.chat.id}`)).toEqual([]);
});

test('a request that Telegram has signed and that is no update is 400, and one for an account that is not there is 401, as without a signature', async () => {
  const { rig } = holder;
  const headers = { 'x-telegram-bot-api-secret-token': SECRET, 'content-type': 'application/json' };
  const post = async (url: string, payload: string) =>
    (await rig.api.app.inject({ method: 'POST', url, headers, payload })).statusCode;
  expect(await post(WEBHOOK, '{"message":')).toBe(400);
  expect(await post(WEBHOOK, '{"update_id": 1, "message": {}}')).toBe(200);
  expect(rig.api.logLines.filter((line) => line.includes('cannot be read'))).toHaveLength(1);
  expect(await post('/v1/channels/telegram/other/webhook', '{}')).toBe(401);
  expect(await post('/v1/channels/__proto__/main/webhook', '{}')).toBe(401);
});

test('the prompt of a group says its part in it, and that reactions are enabled', async () => {
  const { rig } = holder;
  const chat = { id: GROUP, title: 'Team' };
  await write({ from: 5, chat, threadId: 77, text: '@scripted_bot hello' });
  const session = `telegram:group:${GROUP}:thread:77`;
  await rig.api.work(session);
  const [turn] = (await rig.api.get(`/v1/turns?session=${session}`)).body.items;
  const { request } = (await rig.api.get(`/v1/turns/${turn.id}/requests/1`)).body;
  const text = JSON.stringify(request.system);
  for (const sentence of [
    'You are in a group chat on telegram. What you reply is sent to the whole group.',
    'Activation: trigger-only',
    'Reactions are enabled for telegram in MINIMAL mode.',
    'capabilities=inlineButtons,media,reactions',
  ])
    expect(text).toContain(sentence);
});
