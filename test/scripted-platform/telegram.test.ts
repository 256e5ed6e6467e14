// The scripted Telegram as grammY's client reads it: its wire, its checks, and the faults and
// people that a test plays.
import { Api, GrammyError, InputFile } from 'grammy';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  startScriptedTelegram,
  TELEGRAM_TOKEN,
  type ScriptedTelegram,
} from '../../scripted-platform/telegram/scripted-telegram.ts';
import { openReceiver, type Receiver } from './receiver.ts';

let telegram: ScriptedTelegram;
let receiver: Receiver;
let api: Api;

const clientOf = (token: string): Api => new Api(token, { apiRoot: telegram.url });

beforeEach(async () => {
  telegram = await startScriptedTelegram({ pushRetryMs: 5, pushTimeoutMs: 500 });
  receiver = await openReceiver();
  api = clientOf(TELEGRAM_TOKEN);
});

afterEach(async () => {
  await telegram.close();
  await receiver.close();
});

/** The status and the words of a refused call. */
async function refusalOf(call: Promise<unknown>): Promise<[number, string]> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof GrammyError)) throw new Error('The call was not refused', { cause: error });
  return [error.error_code, error.description];
}

test('a poll returns what people wrote until its offset confirms it', async () => {
  expect(await api.getMe()).toMatchObject({ id: 110_201_543, is_bot: true, username: 'scripted_bot' });
  const first = telegram.say('Hello');
  telegram.say('Are you there?');
  const updates = await api.getUpdates({ limit: 1 });
  expect(updates).toMatchObject([
    { message: { message_id: first.message_id, text: 'Hello', chat: { id: 42, type: 'private' } } },
  ]);
  expect(await api.getUpdates()).toHaveLength(2);
  const rest = await api.getUpdates({ offset: (updates[0]?.update_id ?? 0) + 1 });
  expect(rest.map((update) => update.message?.text)).toEqual(['Are you there?']);
  expect(await api.getUpdates()).toEqual(rest);
  expect(telegram.pendingUpdates()).toHaveLength(1);
});

test('a long poll returns when a message arrives, and at its timeout without one', async () => {
  const poll = api.getUpdates({ timeout: 50 });
  await expect.poll(() => telegram.calls.entries.length).toBe(1);
  telegram.say({ from: 7, text: 'Now' });
  expect(await poll).toMatchObject([{ message: { text: 'Now', from: { id: 7 } } }]);
  expect(await api.getUpdates({ offset: telegram.pendingUpdates().length + 2_000_000_000, timeout: 1 })).toEqual([]);
});

test('a second poll ends the first with 409, and so does a webhook', async () => {
  const first = refusalOf(api.getUpdates({ timeout: 50 }));
  await expect.poll(() => telegram.calls.entries.length).toBe(1);
  const second = refusalOf(api.getUpdates({ timeout: 50 }));
  expect(await first).toEqual([
    409,
    'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
  ]);
  await api.setWebhook(receiver.url);
  expect(await second).toEqual([409, 'Conflict: terminated by setWebhook request']);
  const third = await refusalOf(api.getUpdates());
  expect(third).toEqual([
    409,
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
  ]);
  await api.deleteWebhook();
  expect(await api.getUpdates()).toEqual([]);
});

test('a webhook receives each update with the secret token until it accepts it, in the order of the chat', async () => {
  receiver.answers.push(500, 503);
  await api.setWebhook(receiver.url, { secret_token: 'abc-123' });
  for (const text of ['one', 'two', 'three']) telegram.say(text);
  await expect.poll(() => telegram.pendingUpdates()).toEqual([]);
  const texts = receiver.requests.map(({ body }) => (body as { message: { text: string } }).message.text);
  expect(texts).toEqual(['one', 'one', 'one', 'two', 'three']);
  expect(receiver.requests[0]?.headers['x-telegram-bot-api-secret-token']).toBe('abc-123');
  expect(await api.getWebhookInfo()).toMatchObject({
    url: receiver.url,
    pending_update_count: 0,
    last_error_message: 'Wrong response from the webhook: 503',
  });
  // prettier-ignore
  expect(telegram.pushes.entries.map(({ attempt, status }) => [attempt, status])).toEqual([[1, 500], [2, 503], [3, 200], [1, 200], [1, 200]]);
});

test('pushes are duplicated and reordered on request', async () => {
  await api.setWebhook(receiver.url);
  telegram.disturb({ duplicate: 1 });
  telegram.say('twice');
  await expect.poll(() => receiver.requests.length).toBe(2);
  telegram.disturb({ reorder: 3 });
  for (const text of ['1', '2', '3']) telegram.say(text);
  await expect.poll(() => receiver.requests.length).toBe(5);
  const texts = receiver.requests.map(({ body }) => (body as { message: { text: string } }).message.text);
  expect(texts).toEqual(['twice', 'twice', '3', '2', '1']);
});

test('an unknown token is refused with 401, and an unknown method with 404', async () => {
  expect(await refusalOf(clientOf('1:wrong').getMe())).toEqual([401, 'Unauthorized']);
  expect(await refusalOf(clientOf('nonsense').getMe())).toEqual([404, 'Not Found']);
  telegram.revokeToken(TELEGRAM_TOKEN);
  expect(await refusalOf(api.getMe())).toEqual([401, 'Unauthorized']);
  telegram.addToken('110201543:renewed');
  telegram.say('Still here');
  expect(await clientOf('110201543:renewed').getUpdates()).toMatchObject([{ message: { text: 'Still here' } }]);
});

test('texts are limited to 4,096 UTF-16 code units once their entities are parsed', async () => {
  telegram.say('Hi');
  expect(await refusalOf(api.sendMessage(42, ''))).toEqual([400, 'Bad Request: message text is empty']);
  expect(await refusalOf(api.sendMessage(42, '😀'.repeat(2049)))).toEqual([400, 'Bad Request: message is too long']);
  const bold = await api.sendMessage(42, `*${'a'.repeat(4096)}*`, { parse_mode: 'MarkdownV2' });
  expect(bold).toMatchObject({ text: 'a'.repeat(4096), entities: [{ type: 'bold', offset: 0, length: 4096 }] });
  expect(await refusalOf(api.sendMessage(43, 'Hi'))).toEqual([400, 'Bad Request: chat not found']);
});

test.each([
  ['MarkdownV2', 'a *bold _both_* [link](http://x.y/\\)) `a*b`', 'a bold both link a*b', 'bold italic text_link code'],
  ['MarkdownV2', '__under__ ~gone~ ||secret||', 'under gone secret', 'underline strikethrough spoiler'],
  ['MarkdownV2', '```ts\nconst a = 1;\n```', 'const a = 1;', 'pre'],
  ['MarkdownV2', '>quoted\n>more\nafter \\.', 'quoted\nmore\nafter .', 'blockquote'],
  [
    'HTML',
    '<b>bold <i>both</i></b> <a href="http://x.y">link</a> &lt;&amp;&#33;',
    'bold both link <&!',
    'bold italic text_link',
  ],
  [
    'HTML',
    '<pre><code class="language-ts">a</code></pre><blockquote expandable>q</blockquote>',
    'aq',
    'pre blockquote',
  ],
  ['Markdown', '*bold* _it_ `code` [link](http://x.y) a\\_b', 'bold it code link a_b', 'bold italic code text_link'],
] as const)('%s %s is read as the bot wrote it', async (parseMode, source, text, types) => {
  telegram.say('Hi');
  const message = await api.sendMessage(42, source, { parse_mode: parseMode });
  expect([message.text, message.entities?.map(({ type }) => type).join(' ')]).toEqual([text, types]);
});

test.each([
  ['MarkdownV2', 'one. two', "Character '.' is reserved and must be escaped with the preceding '\\'"],
  ['MarkdownV2', 'é *bold', "Can't find end of Bold entity at byte offset 3"],
  ['MarkdownV2', '[a](http://x', "Can't find end of a URL at byte offset 4"],
  ['HTML', 'a <x>', 'Unsupported start tag "x" at byte offset 2'],
  ['HTML', '<b>a</i>', 'Unmatched end tag at byte offset 4, expected "</b>", found "</i>"'],
  ['HTML', '<b>a', 'Can\'t find end tag corresponding to start tag "b"'],
  ['Markdown', 'a *b', "Can't find end of the entity starting at byte offset 2"],
] as const)('%s %s is refused', async (parseMode, source, words) => {
  telegram.say('Hi');
  const call = api.sendMessage(42, source, { parse_mode: parseMode });
  expect(await refusalOf(call)).toEqual([400, `Bad Request: can't parse entities: ${words}`]);
});

test('a bot answers messages, writes into topics and edits what it wrote', async () => {
  const chat = { id: -1_001_234, title: 'Team' };
  const said = telegram.say({ chat, threadId: 5, text: '/ask@scripted_bot why' });
  // prettier-ignore
  expect(said).toMatchObject({ message_id: 1, chat: { type: 'supergroup', is_forum: true }, is_topic_message: true, entities: [{ type: 'bot_command', offset: 0, length: 17 }] });
  const sent = await api.sendMessage(chat.id, 'Because', { message_thread_id: 5, reply_parameters: { message_id: 1 } });
  expect(sent).toMatchObject({ message_thread_id: 5, reply_to_message: { message_id: 1 } });
  expect(await refusalOf(api.sendMessage(chat.id, 'x', { message_thread_id: 6 }))).toEqual([
    400,
    'Bad Request: message thread not found',
  ]);
  // prettier-ignore
  expect(await refusalOf(api.sendMessage(chat.id, 'x', { reply_parameters: { message_id: 99 } }))).toEqual([400, 'Bad Request: message to be replied not found']);
  await api.editMessageText(chat.id, sent.message_id, 'Because *yes*', { parse_mode: 'Markdown' });
  expect(telegram.messages(chat.id).map(({ text }) => text)).toEqual(['/ask@scripted_bot why', 'Because yes']);
  const same = api.editMessageText(chat.id, sent.message_id, 'Because *yes*', { parse_mode: 'Markdown' });
  expect((await refusalOf(same))[1]).toContain('message is not modified');
  expect(await refusalOf(api.editMessageText(chat.id, said.message_id, 'x'))).toEqual([
    400,
    "Bad Request: message can't be edited",
  ]);
});

test('files go both ways', async () => {
  const said = telegram.say({
    text: 'Listen',
    files: [{ kind: 'voice', name: 'a.ogg', type: 'audio/ogg', text: 'sound' }],
  });
  const [update] = await api.getUpdates();
  expect(update?.message).toMatchObject({
    message_id: said.message_id,
    caption: 'Listen',
    voice: { mime_type: 'audio/ogg', file_size: 5 },
  });
  const file = await api.getFile(update?.message?.voice?.file_id ?? '');
  const answer = await fetch(`${telegram.url}/file/bot${TELEGRAM_TOKEN}/${file.file_path}`);
  expect(await answer.text()).toBe('sound');
  const sent = await api.sendDocument(42, new InputFile(Buffer.from('a,b'), 'table.csv'), {
    caption: '*Table*',
    parse_mode: 'MarkdownV2',
  });
  expect(sent).toMatchObject({
    document: { file_name: 'table.csv', file_size: 3 },
    caption: 'Table',
    caption_entities: [{ type: 'bold' }],
  });
  expect(telegram.calls.entries.at(-1)?.files).toMatchObject([{ name: 'table.csv', bytes: Buffer.from('a,b') }]);
  // prettier-ignore
  expect(await refusalOf(api.sendDocument(42, new InputFile(Buffer.from('a'), 'a'), { caption: 'a'.repeat(1025) }))).toEqual([400, 'Bad Request: message caption is too long']);
  telegram.say({
    text: 'Both',
    files: [
      { kind: 'photo', text: '1' },
      { kind: 'photo', text: '2' },
    ],
  });
  const album = (await api.getUpdates({ offset: -2 })).map(({ message }) => message);
  // prettier-ignore
  expect(album.map((message) => [message?.caption, message?.media_group_id])).toEqual([['Both', expect.any(String)], [undefined, album[0]?.media_group_id]]);
});

test('edits, reactions and presses of people reach the bot, reactions only if it asks for them', async () => {
  const said = telegram.say('Helo');
  telegram.edit({ messageId: said.message_id, text: 'Hello' });
  const keyboard = { inline_keyboard: [[{ text: 'Yes', callback_data: 'yes:1' }]] };
  const sent = await api.sendMessage(42, 'Sure?', { reply_markup: keyboard });
  telegram.react({ messageId: sent.message_id, emoji: '👍' });
  const updates = await api.getUpdates({
    allowed_updates: ['message', 'edited_message', 'message_reaction', 'callback_query'],
  });
  expect(updates.map((update) => update.edited_message?.text ?? update.message?.text)).toEqual(['Helo', 'Hello']);
  telegram.react({ messageId: sent.message_id, emoji: '👎' });
  const pressId = telegram.press({ messageId: sent.message_id, button: 'Yes' });
  const [reaction, press] = (await api.getUpdates()).slice(2);
  expect(reaction?.message_reaction).toMatchObject({
    user: { id: 42 },
    old_reaction: [{ emoji: '👍' }],
    new_reaction: [{ emoji: '👎' }],
  });
  expect(press?.callback_query).toMatchObject({
    id: pressId,
    data: 'yes:1',
    message: { text: 'Sure?' },
    from: { id: 42 },
  });
  await api.answerCallbackQuery(pressId, { text: 'Noted' });
  expect(telegram.answerOf(pressId)).toBe('Noted');
  expect((await refusalOf(api.answerCallbackQuery('press-0')))[1]).toContain('query ID is invalid');
  await api.setMessageReaction(42, said.message_id, [{ type: 'emoji', emoji: '👀' }]);
  await api.sendChatAction(42, 'typing');
  // prettier-ignore
  expect((await refusalOf(api.setMessageReaction(42, said.message_id, [{ type: 'emoji', emoji: '🦖' as '👍' }])))[1]).toBe('Bad Request: REACTION_INVALID');
  // prettier-ignore
  expect((await refusalOf(api.sendMessage(42, 'x', { reply_markup: { inline_keyboard: [[{ text: 'a', callback_data: 'a'.repeat(65) }]] } })))[1]).toBe('Bad Request: BUTTON_DATA_INVALID');
});

test('calls meet the faults that are armed for their method and chat', async () => {
  telegram.say('Hi');
  telegram.say({ from: 43, text: 'Hi' });
  telegram.faults.arm({ method: 'sendMessage', chat: 42, retryAfter: 20 });
  const error = await api.sendMessage(42, 'x').catch((reason: unknown) => reason as GrammyError);
  expect(error).toMatchObject({
    error_code: 429,
    description: 'Too Many Requests: retry after 20',
    parameters: { retry_after: 20 },
  });
  expect((await refusalOf(api.sendMessage(42, 'x')))[0]).toBe(429);
  expect(await api.sendMessage(43, 'x')).toMatchObject({ text: 'x' });
  telegram.faults.clear();
  telegram.faults.arm({ method: 'sendMessage', status: 502, after: 1 });
  await api.sendMessage(42, 'before');
  expect(await refusalOf(api.sendMessage(42, 'x'))).toEqual([502, 'Bad Gateway']);
  telegram.faults.arm({ kind: 'close' });
  await expect(api.sendMessage(42, 'lost')).rejects.toThrow('Network request');
  telegram.faults.arm({ kind: 'accept-then-close' });
  await expect(api.sendMessage(42, 'kept')).rejects.toThrow('Network request');
  telegram.faults.arm({ kind: 'hang' });
  await expect(api.sendMessage(42, 'hangs', {}, AbortSignal.timeout(50) as never)).rejects.toThrow('Network request');
  expect(telegram.messages(42).map(({ text }) => text)).toEqual(['Hi', 'before', 'kept']);
  // prettier-ignore
  expect(telegram.calls.entries.slice(-3).map(({ fault, isDone, status }) => [fault, isDone, status])).toEqual([['close', false, null], ['accept-then-close', true, null], ['hang', false, null]]);
  telegram.setChat({ chat: 42, blocked: true });
  expect(await refusalOf(api.sendMessage(42, 'x'))).toEqual([403, 'Forbidden: bot was blocked by the user']);
});

test('a bot with privacy mode receives only commands, mentions and answers in groups', async () => {
  const strict = await startScriptedTelegram({ readsAllGroupMessages: false });
  const bot = new Api(TELEGRAM_TOKEN, { apiRoot: strict.url });
  strict.say({ chat: -5, text: 'Good morning' });
  strict.say({ chat: -5, text: 'Hey @Scripted_Bot' });
  const sent = await bot.sendMessage(-5, 'Yes?');
  strict.say({ chat: -5, text: 'Why?', replyTo: sent.message_id });
  expect((await bot.getUpdates()).map(({ message }) => message?.text)).toEqual(['Hey @Scripted_Bot', 'Why?']);
  await strict.close();
});

test('everything can be played over HTTP', async () => {
  const control = async (path: string, body?: object): Promise<unknown> => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    return (await fetch(`${telegram.url}/control/${path}`, init)).json();
  };
  expect(await control('say', { from: { id: 7, first_name: 'Ada' }, text: 'Hello' })).toMatchObject({
    text: 'Hello',
    from: { first_name: 'Ada' },
  });
  await api.sendMessage(7, 'Good morning');
  expect(await control('messages?chat=7')).toMatchObject({ messages: [{ text: 'Hello' }, { text: 'Good morning' }] });
  // prettier-ignore
  expect(await control('calls?method=sendMessage')).toMatchObject({ count: 1, calls: [{ chat: '7', parameters: { text: 'Good morning' }, status: 200, isDone: true }] });
  expect(await control('faults', { method: 'sendMessage', kind: 'nothing' })).toMatchObject({
    ok: false,
    error: expect.stringContaining('kind') as string,
  });
  expect(await control('faults', { method: 'sendMessage', status: 500 })).toEqual({ ok: true });
  expect((await refusalOf(api.sendMessage(7, 'x')))[0]).toBe(500);
  expect(await control('nothing')).toMatchObject({ error: expect.stringContaining('POST /control/say') as string });
});
