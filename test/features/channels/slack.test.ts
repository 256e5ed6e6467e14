// The adapter of Slack against the wire of Slack on loopback.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, describe, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { PlatformError, type Received, type WebhookRequest } from '../../../src/features/channels/platform.ts';
import { openPlatform } from '../../../src/features/channels/platforms/slack.ts';
import { newId } from '../../../src/ids.ts';
import { listenToSocket } from '../../../src/features/channels/platforms/slack-wire.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { startSlackServer, type SlackServer } from './slack-server.ts';

const SECRET = '0123456789abcdef0123456789abcdef';

const holder = {} as { slack: SlackServer };
shareAmongTests(async (onEnd) => {
  holder.slack = await startSlackServer();
  onEnd(() => holder.slack.close());
});

const signal = () => AbortSignal.timeout(20_000);

const platformAt = (baseUrl: string) =>
  openPlatform({
    channel: 'slack',
    account: 'main',
    mode: 'socket',
    token: 'xoxb-1',
    appToken: 'xapp-1',
    signingSecret: SECRET,
    baseUrl,
  });
const platform = () => platformAt(holder.slack.baseUrl);

/** A request of Slack: signed, or as the test changes it. */
function signed(
  body: string,
  changes: { secret?: string; at?: number; headers?: WebhookRequest['headers']; type?: string } = {},
): WebhookRequest {
  const { secret = SECRET, at = Date.now(), headers = {}, type = 'application/json' } = changes;
  const timestamp = String(Math.floor(at / 1_000));
  const signature = `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`;
  return {
    rawBody: Buffer.from(body),
    headers: {
      'content-type': type,
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': signature,
      ...headers,
    },
  };
}

/** Nothing listens there any more. */
async function addressWithoutServer(): Promise<string> {
  const server = await startSlackServer();
  await server.close();
  return server.baseUrl;
}

const event = (fields: object) => JSON.stringify({ type: 'event_callback', team_id: 'T1', event: fields });
const receive = async (fields: object): Promise<Received[]> =>
  (await platform().readWebhook!(signed(event(fields))))!.received;

const MESSAGE = { type: 'message', channel: 'D1', user: 'U1', text: 'Hello', ts: '1700000000.000100' };

describe('a request of Slack', () => {
  test('is read only if its body has a signature of the last five minutes', async () => {
    const body = event(MESSAGE);
    const read = (request: WebhookRequest) => platform().readWebhook!(request);
    expect(await read(signed(body))).toMatchObject({ answer: { status: 200 }, received: [{ text: 'Hello' }] });
    const right = signed(body);
    const minutes = (n: number) => Date.now() + n * 60_000;
    const forged: WebhookRequest[] = [
      signed(body, { secret: 'f'.repeat(32) }),
      signed(body, { secret: '' }),
      signed(body, { at: minutes(-5.1) }),
      signed(body, { at: minutes(5.1) }),
      { ...right, rawBody: Buffer.from(body.replace('Hello', 'hello')) },
      { ...right, rawBody: Buffer.from(`${body} `) },
      { ...right, rawBody: Buffer.from([0xff]) },
      ...[
        { 'x-slack-signature': undefined },
        { 'x-slack-request-timestamp': undefined },
        { 'x-slack-request-timestamp': 'now' },
        { 'x-slack-request-timestamp': '' },
        { 'x-slack-signature': '' },
        { 'x-slack-signature': 'v0=' },
        { 'x-slack-signature': right.headers['x-slack-signature']!.replace('v0=', 'v1=') },
        { 'x-slack-signature': right.headers['x-slack-signature']!.slice(0, -2) },
        { 'x-slack-signature': `${right.headers['x-slack-signature']!}00` },
      ].map((headers) => ({ ...right, headers: { ...right.headers, ...headers } })),
    ];
    const signature = right.headers['x-slack-signature']!;
    const wrongDigit = (at: number) => (signature[at] === '0' ? '1' : '0');
    for (let at = 3; at < signature.length; at += 2)
      forged.push({
        ...right,
        headers: {
          ...right.headers,
          'x-slack-signature': signature.slice(0, at) + wrongDigit(at) + signature.slice(at + 1),
        },
      });
    expect(forged.length).toBeGreaterThanOrEqual(40);
    for (const minute of [-4.9, -2, 2, 4.9]) expect(await read(signed(body, { at: minutes(minute) }))).not.toBeNull();
    for (const request of forged) expect(await read(request)).toBeNull();
    const unset = openPlatform({
      channel: 'slack',
      account: 'main',
      mode: 'webhook',
      token: 'xoxb-1',
      signingSecret: '',
    });
    expect(await unset.readWebhook!(signed(body, { secret: '' }))).toBeNull();
  });

  test('that asks whether the address is right is answered with its challenge', async () => {
    const asked = await platform().readWebhook!(signed(JSON.stringify({ type: 'url_verification', challenge: 'abc' })));
    expect(asked).toEqual({ answer: { status: 200, body: 'abc' }, received: [] });
    expect(await platform().readWebhook!(signed('{'))).toEqual({ answer: { status: 400 }, received: [] });
  });

  test('says what a person has written, where, and whether it is for the bot', async () => {
    expect(await receive(MESSAGE)).toEqual([
      {
        kind: 'message',
        place: { chatId: 'D1', chatType: 'direct', team: 'T1' },
        sender: { id: 'U1', isBot: false },
        at: 1_700_000_000_000,
        messageId: '1700000000.000100',
        text: 'Hello',
        isOwnText: true,
        isForBot: true,
        files: [],
      },
    ]);
    const inChannel = { ...MESSAGE, channel: 'C1' };
    expect(await receive(inChannel)).toMatchObject([{ place: { chatType: 'channel' }, isForBot: false }]);
    expect(await receive({ ...inChannel, text: '<@UBOT> /stop *now* &amp; here' })).toMatchObject([
      { isForBot: true, isMentioned: true, text: '/stop **now** & here' },
    ]);
    const reply = { ...inChannel, thread_ts: '1600000000.000100', parent_user_id: 'UBOT' };
    expect(await receive(reply)).toMatchObject([{ isForBot: true, place: { threadId: '1600000000.000100' } }]);
    expect((await receive(reply))[0]).not.toHaveProperty('isMentioned');
    const file = { id: 'F1', name: 'a.png', mimetype: 'image/png', size: 3 };
    expect(await receive({ ...MESSAGE, subtype: 'file_share', text: '', files: [file] })).toMatchObject([
      { files: [{ id: 'F1', name: 'a.png', type: 'image/png', bytes: 3 }] },
    ]);
    expect(await receive({ ...MESSAGE, subtype: 'bot_message', bot_id: 'B2', user: undefined })).toMatchObject([
      { sender: { id: 'B2', isBot: true } },
    ]);
    expect(await receive({ ...MESSAGE, text: 7 })).toMatchObject([{ kind: 'unreadable', error: expect.any(Error) }]);
    for (const other of [{ subtype: 'channel_join' }, { type: 'channel_rename' }, { ts: undefined }, { text: '' }])
      expect(await receive({ ...MESSAGE, ...other })).toEqual([]);
  });

  const image = { id: 'F1', name: 'a.png', user: 'U2' };
  const shared = { is_share: true, is_msg_unfurl: true, text: '/new', author_id: 'U2' };
  test.each<[string, boolean, object]>([
    ['what a person writes', true, {}],
    ['what a person writes with a file', true, { subtype: 'file_share', files: [image] }],
    ['what a person writes above a message that is forwarded', true, { attachments: [shared] }],
    ['what an app writes for a person', false, { bot_id: 'B2' }],
    ['what a bot writes', false, { subtype: 'bot_message', bot_id: 'B2', user: undefined }],
    ['what was changed before it was read', false, { edited: { ts: '1700000009.000000' } }],
  ])('says whether the sender has written the text: %s', async (_how, isOwnText, facts) => {
    expect(await receive({ ...MESSAGE, text: '/stop', ...facts })).toMatchObject([{ text: '/stop', isOwnText }]);
    const text = 'attachments' in facts ? '/new' : '';
    expect(await receive({ ...MESSAGE, text: '', ...facts, files: [image], subtype: 'file_share' })).toMatchObject([
      { text, isOwnText: isOwnText && text === '' },
    ]);
  });

  const author = { author_name: 'Bo', author_id: 'U2', ts: '1600000000.000100' };
  const section = { type: 'section', text: { type: 'mrkdwn', text: 'Disk *full* on <http://a.b|host>' } };
  const inside = [
    {
      message: {
        blocks: [
          {
            type: 'rich_text',
            elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: 'in *it*' }] }],
          },
        ],
      },
    },
  ];
  test.each<[string, object, object]>([
    [
      'forwarded',
      { attachments: [{ ...shared, ...author }] },
      { text: '/new', isOwnText: false, forwarded: { from: 'Bo', date: 1_600_000_000_000 } },
    ],
    [
      'forwarded, with a file',
      { attachments: [{ ...shared, files: [image] }] },
      { text: '/new', files: [{ id: 'F1' }] },
    ],
    [
      'forwarded, with blocks only',
      { attachments: [{ ...author, is_share: true, message_blocks: inside }] },
      { text: 'in *it*', isOwnText: false },
    ],
    [
      'forwarded below words of the person',
      { text: 'See', attachments: [{ ...shared, ...author }] },
      { text: 'See', isOwnText: true, replyTo: { isQuote: true, senderLabel: 'Bo', body: '/new' } },
    ],
    [
      'blocks of an app',
      {
        bot_id: 'B2',
        blocks: [{ type: 'header', text: { type: 'plain_text', text: 'Alert' } }, section, { type: 'divider' }],
      },
      { text: 'Alert\nDisk **full** on [host](http://a.b)', isOwnText: false },
    ],
    [
      'blocks of an app, with words for notifications',
      { bot_id: 'B2', text: 'Alert', blocks: [section] },
      { text: 'Disk **full** on [host](http://a.b)' },
    ],
    [
      'blocks without a bot',
      { blocks: [{ ...section, text: { type: 'mrkdwn', text: '/stop' } }] },
      { text: '/stop', isOwnText: false },
    ],
    [
      'an attachment of an app',
      {
        bot_id: 'B2',
        attachments: [
          { title: 'Build', title_link: 'http://c.i', text: 'failed', fields: [{ title: 'Branch', value: 'main' }] },
        ],
      },
      { text: '[Build](http://c.i)\nfailed\nBranch: main' },
    ],
    [
      'an attachment below a text',
      { bot_id: 'B2', text: 'New', attachments: [{ fallback: '/stop' }] },
      { text: 'New\n/stop', isOwnText: false },
    ],
    ['an attachment of a person', { attachments: [{ text: '/stop' }] }, { text: '/stop', isOwnText: false }],
    [
      'the preview of a link',
      { text: '<http://a.b>', attachments: [{ from_url: 'http://a.b', text: '/new' }] },
      { text: 'http://a.b', isOwnText: true },
    ],
    [
      'sent to the channel and its thread',
      { subtype: 'thread_broadcast', thread_ts: '1600000000.000100', attachments: [{ ...shared }] },
      { text: '/new' },
    ],
  ])('has what is %s', async (_what, facts, expected) => {
    expect(await receive({ ...MESSAGE, text: '', ...facts })).toMatchObject([expected]);
  });

  test('that is changed in its attachments only is an edit', async () => {
    const was = { ...MESSAGE, text: '', bot_id: 'B2', attachments: [{ text: 'running' }] };
    const message = { ...was, attachments: [{ text: 'failed' }], edited: { ts: '1700000009.000000' } };
    const change = { type: 'message', subtype: 'message_changed', channel: 'D1', message, previous_message: was };
    expect(await receive(change)).toMatchObject([{ kind: 'edit', text: 'failed' }]);
    expect(await receive({ ...change, previous_message: message })).toEqual([]);
  });

  /** A message as a person types it: Slack sends it twice. */
  const typed = (...elements: object[]) => ({ blocks: [{ type: 'rich_text', elements }] });
  const line = (...pieces: (string | object)[]) => ({
    type: 'rich_text_section',
    elements: pieces.map((piece) => (typeof piece === 'string' ? { type: 'text', text: piece } : piece)),
  });
  const styled = (text: string, style: object) => ({ type: 'text', text, style });
  test.each<[string, object, string]>([
    ['2 * 3 * 4', {}, '2 * 3 * 4'],
    ['*.txt and *.md', {}, '*.txt and *.md'],
    ['find -name "*.ts" -o -name "*.js"', {}, 'find -name "*.ts" -o -name "*.js"'],
    ['~/a ~/b', {}, '~/a ~/b'],
    ['f(*args, **more)', {}, 'f(*args, **more)'],
    ['`a *b* ~c~` and *b* ~c~', {}, '`a *b* ~c~` and **b** ~~c~~'],
    ['*bold*, (*bold*) and _it_', {}, '**bold**, (**bold**) and _it_'],
    ['"*a*" is *a*', typed(line('"*a*" is ', styled('a', { bold: true }))), '"*a*" is **a**'],
    [
      'x',
      typed(
        line(
          styled('both ', { bold: true, italic: true }),
          styled('gone', { strike: true }),
          styled('a*b', { code: true }),
        ),
      ),
      '**_both_** ~~gone~~`a*b`',
    ],
    [
      'x',
      typed(
        line(
          'See ',
          { type: 'link', url: 'http://a.b' },
          ' ',
          { type: 'link', url: 'http://a.b', text: 'it' },
          { type: 'emoji', name: 'tada' },
        ),
      ),
      'See http://a.b [it](http://a.b):tada:',
    ],
    [
      'x',
      typed(
        line('Ask ', { type: 'user', user_id: 'U7' }, ' in ', { type: 'channel', channel_id: 'C7' }, ', ', {
          type: 'broadcast',
          range: 'here',
        }),
      ),
      'Ask @U7 in #C7, @here',
    ],
    [
      'x',
      typed(
        line('Do\n'),
        { type: 'rich_text_list', style: 'ordered', elements: [line('a'), line('b')] },
        { type: 'rich_text_list', style: 'bullet', indent: 1, elements: [line('c')] },
      ),
      'Do\n1. a\n2. b\n   - c',
    ],
    [
      'x',
      typed(
        { type: 'rich_text_quote', elements: [{ type: 'text', text: '/new\nb' }] },
        { type: 'rich_text_preformatted', elements: [{ type: 'text', text: 'a <b> & c' }] },
      ),
      '> /new\n> b\n```\na <b> & c\n```',
    ],
  ])('is read as it was typed: %s', async (text, facts, expected) => {
    expect(await receive({ ...MESSAGE, text, ...facts })).toMatchObject([{ text: expected, isOwnText: true }]);
  });

  test.each<[string, object, string]>([
    ['<@UBOT|holdfast> /stop', {}, '/stop'],
    ['ask <@UBOT|holdfast>', {}, 'ask @UBOT'],
    ['<@UBOT> /stop', typed(line({ type: 'user', user_id: 'UBOT' }, ' /stop')), '/stop'],
    ['', { bot_id: 'B2', blocks: [{ type: 'section', text: { type: 'mrkdwn', text: '<@UBOT> look' } }] }, 'look'],
  ])('is for the bot that it mentions: %s', async (text, facts, expected) => {
    const [said] = await receive({ ...MESSAGE, channel: 'C1', text, ...facts });
    expect(said).toMatchObject({ text: expected, isForBot: true, isMentioned: true });
    expect(await receive({ ...MESSAGE, channel: 'C1', text: '<@UBOTH> hi' })).toMatchObject([{ isForBot: false }]);
  });

  test('keeps a quote as one', async () => {
    expect(await receive({ ...MESSAGE, text: '&gt; use /queue steer' })).toMatchObject([
      { text: '> use /queue steer' },
    ]);
  });

  test('says what was edited, reacted with and pressed', async () => {
    const edited = { ...MESSAGE, text: 'Hello!', edited: { ts: '1700000009.000000' } };
    const change = {
      type: 'message',
      subtype: 'message_changed',
      channel: 'D1',
      event_ts: '1700000009.000000',
      previous_message: MESSAGE,
    };
    expect(await receive({ ...change, message: edited })).toMatchObject([
      { kind: 'edit', messageId: MESSAGE.ts, text: 'Hello!', at: 1_700_000_009_000 },
    ]);
    expect(await receive({ ...change, message: MESSAGE })).toEqual([]);
    const reaction = {
      type: 'reaction_added',
      user: 'U1',
      reaction: 'thumbsup',
      item: { type: 'message', channel: 'C1', ts: '1.2' },
    };
    expect(await receive(reaction)).toMatchObject([{ kind: 'reaction', emoji: '👍', isAdded: true, messageId: '1.2' }]);
    expect(await receive({ ...reaction, type: 'reaction_removed', reaction: 'party_parrot' })).toMatchObject([
      { emoji: ':party_parrot:', isAdded: false },
    ]);
    const opened = platform();
    const read = async (fields: object) => (await opened.readWebhook!(signed(event(fields))))!.received;
    await read({ ...MESSAGE, channel: 'C1', user: 'U9', bot_id: 'B9' });
    expect(await read({ ...reaction, user: 'U9' })).toMatchObject([{ sender: { id: 'U9', isBot: true } }]);
    expect(await read(reaction)).toMatchObject([{ sender: { id: 'U1', isBot: false } }]);
    const payload = JSON.stringify({
      type: 'block_actions',
      user: { id: 'U1', name: 'ann' },
      team: { id: 'T1' },
      channel: { id: 'C1' },
      message: { ts: '1700000000.000100', thread_ts: '1600000000.000100' },
      actions: [{ action_id: 'press-0', value: '/approve 1', action_ts: '1700000001.5' }],
    });
    const form = signed(new URLSearchParams({ payload }).toString(), { type: 'application/x-www-form-urlencoded' });
    expect((await platform().readWebhook!(form))!.received).toMatchObject([
      {
        kind: 'press',
        value: '/approve 1',
        sender: { id: 'U1' },
        place: { chatId: 'C1', threadId: '1600000000.000100' },
      },
    ]);
  });
});

describe('a message', () => {
  const part = { markdown: '**Done** <!channel>', deliveryId: newId<string>() };

  test('is sent once, and found by the id of its delivery, in a thread with many older replies too', async () => {
    const { slack } = holder;
    const reply = (n: number) => ({ channel: 'C7', user: 'U1', text: 'x', ts: `16000${10_000 + n}.000100` });
    const replies = Array.from({ length: 1_200 }, (_, n) => ({ ...reply(n), thread_ts: '1600000000.000100' }));
    slack.messages.push(...replies);
    const to = { chatId: 'C7', threadId: '1600000000.000100' };
    const buttons = [{ label: 'Yes', value: 'y' }];
    const { platformId } = await platform().send(to, { ...part, buttons }, signal());
    const { fields } = slack.calls.findLast(({ method }) => method === 'chat.postMessage')!;
    expect(fields).toMatchObject({ channel: 'C7', thread_ts: to.threadId, text: '**Done** &lt;!channel&gt;' });
    expect(JSON.parse(String(fields['blocks']))).toMatchObject([
      { type: 'markdown', text: '**Done** &lt;!channel>' },
      { type: 'actions', elements: [{ value: 'y' }] },
    ]);
    expect(await platform().findSent!(to, part.deliveryId, signal())).toEqual({ platformId });
    expect(await platform().findSent!(to, newId(), signal())).toBeNull();
    expect(await platform().findSent!({ chatId: 'C8' }, part.deliveryId, signal())).toBeNull();
  });

  test.each([
    [
      '<!channel> <!here|here> <!subteam^S1> <!date^1^{date}|x>',
      '&lt;!channel> &lt;!here|here> &lt;!subteam^S1> &lt;!date^1^{date}|x>',
    ],
    ['<@U1> <@W1|ann> <#C1|general>', '&lt;@U1> &lt;@W1|ann> &lt;#C1|general>'],
    [
      '<https://evil.example|https://bank.example> <mailto:a@b.c|x>',
      '&lt;https://evil.example|https://bank.example> &lt;mailto:a@b.c|x>',
    ],
    [
      '<https://a.b> <b> `Map<string|number>` <!-- x --> a < b | c <!DOCTYPE html>',
      '<https://a.b> <b> `Map<string|number>` <!-- x --> a < b | c <!DOCTYPE html>',
    ],
  ])('notifies no one and hides no address, and stays else as it is: %s', async (markdown, shown) => {
    await platform().send({ chatId: 'C9' }, { ...part, markdown }, signal());
    const { fields } = holder.slack.calls.findLast(({ method }) => method === 'chat.postMessage')!;
    expect(JSON.parse(String(fields['blocks']))).toEqual([{ type: 'markdown', text: shown }]);
    expect(platform().textLimit.measure(markdown)).toBe(shown.length);
  });

  test('that is not sent says whether it may have been, and when it can be', async () => {
    const { slack } = holder;
    const { 'chat.postMessage': usual } = slack.methods;
    const failure = async (method: (typeof slack.methods)[string]) => {
      slack.methods['chat.postMessage'] = method;
      const error: unknown = await platform()
        .send({ chatId: 'C1' }, part, signal())
        .catch((thrown: unknown) => thrown);
      return error as PlatformError;
    };
    const before = slack.calls.length;
    const refusals: [string, PlatformError['kind']][] = [
      ['channel_not_found', 'refused'],
      ['invalid_auth', 'unauthorized'],
      ['ratelimited', 'later'],
      ['fatal_error', 'unknown'],
    ];
    for (const [error, kind] of refusals)
      expect(await failure(() => ({ ok: false, error }))).toMatchObject({
        kind,
        message: expect.stringContaining(error),
      });
    expect(await failure((_, answer) => void answer.writeHead(429, { 'retry-after': '20' }).end())).toMatchObject({
      kind: 'later',
      status: 429,
      retryAfterMs: 20_000,
    });
    expect(await failure((_, answer) => void answer.writeHead(502).end())).toMatchObject({
      kind: 'unknown',
      status: 502,
    });
    expect(await failure((_, answer) => void answer.destroy())).toMatchObject({ kind: 'unknown' });
    // Nothing was asked twice.
    expect(slack.calls.length - before).toBe(7);
    slack.methods['chat.postMessage'] = usual!;
    const away = await platformAt(await addressWithoutServer())
      .send({ chatId: 'C1' }, part, signal())
      .catch((error: unknown) => error);
    expect(away).toMatchObject({ kind: 'later' });
    expect(String((away as Error).message)).not.toContain('xoxb');
  });
});

describe('the socket', () => {
  const envelope = (id: string, fields: object) => ({
    envelope_id: id,
    type: 'events_api',
    payload: { type: 'event_callback', team_id: 'T1', event: { ...MESSAGE, ...fields } },
  });

  /** Listens from a position on, and keeps the texts that are committed. */
  function listen(position: string) {
    const texts: string[] = [];
    const ended = new AbortController();
    const listening = platform().listen!(
      position,
      async (received) => void texts.push(...received.map((said) => ('text' in said ? said.text : ''))),
      ended.signal,
    );
    // It is awaited at the end.
    listening.catch(() => undefined);
    return { texts, stop: () => (ended.abort(), listening) };
  }

  test('acknowledges what is committed, in its order, and never what is not', async () => {
    const { slack } = holder;
    const stop = new AbortController();
    const texts: string[] = [];
    const gate = Promise.withResolvers<void>();
    const open = slack.nextSocket();
    const listening = platform().listen!(
      null,
      async (received, position) => {
        await gate.promise;
        texts.push(...received.map((said) => ('text' in said ? said.text : '')));
        expect(Number(position)).toBeGreaterThan(1_600_000_000);
        if (texts.includes('third')) throw new Error('the database is away');
      },
      stop.signal,
    );
    await open;
    for (const [id, text] of [
      ['e1', 'first'],
      ['e2', 'second'],
      ['e3', 'third'],
      ['e4', 'fourth'],
    ] as const)
      slack.push(envelope(id, { text }));
    expect(slack.acks).toEqual([]);
    gate.resolve();
    await expect(listening).rejects.toThrow('the database is away');
    expect(texts).toEqual(['first', 'second', 'third']);
    await expect.poll(() => slack.acks).toEqual(['e1', 'e2']);
  });

  test('reads what was written while it was away, and ends when Slack closes it', async () => {
    const { slack } = holder;
    const now = Math.floor(Date.now() / 1_000);
    const at = (secondsAgo: number) => `${now - secondsAgo}.000100`;
    slack.messages.push(
      { channel: 'D1', user: 'U1', text: 'before', ts: at(3_600) },
      { channel: 'D1', user: 'U1', text: 'missed', ts: at(20) },
      { channel: 'D1', user: 'U1', text: 'later', ts: at(10) },
      { channel: 'C1', user: 'U1', text: 'thread', ts: at(30), thread_ts: at(30), latest_reply: at(5) },
      { channel: 'C1', user: 'U2', text: 'reply', ts: at(5), thread_ts: at(30) },
    );
    const texts: string[] = [];
    const open = slack.nextSocket();
    const listening = platform().listen!(
      at(40),
      async (received) => void texts.push(...received.map((said) => ('text' in said ? said.text : ''))),
      signal(),
    );
    const socket = await open;
    slack.push(envelope('live', { text: 'live' }));
    await expect.poll(() => texts).toEqual(['missed', 'later', 'thread', 'reply', 'live']);
    socket.send(JSON.stringify({ type: 'disconnect', reason: 'refresh_requested' }));
    await listening;
  });

  test('reads all pages of a thread that was answered while it was away', async () => {
    const { slack } = holder;
    const now = Math.floor(Date.now() / 1_000);
    const parent = { channel: 'C1', user: 'U1', text: 'long thread', ts: `${now - 3_600}.000100` };
    const replies = Array.from({ length: 450 }, (_, n) => `reply ${n}`);
    slack.messages.push(
      { ...parent, thread_ts: parent.ts, latest_reply: `${now - 5}.000449` },
      ...replies.map((text, n) => ({
        ...parent,
        text,
        ts: `${now - 5}.${String(n).padStart(6, '0')}`,
        thread_ts: parent.ts,
      })),
    );
    const { texts, stop } = listen(`${now - 10}.000000`);
    await expect.poll(() => texts.filter((text) => text.startsWith('reply '))).toEqual(replies);
    await stop();
  });

  test('waits as long as Slack says while it reads what was missed in many chats, and acknowledges what is new then', async () => {
    const { slack } = holder;
    const usual = { ...slack.methods };
    onTestFinished(() => void Object.assign(slack.methods, usual));
    const now = Math.floor(Date.now() / 1_000);
    const ids = Array.from({ length: 30 }, (_, n) => `C30${n}`);
    slack.messages.push(...ids.map((channel) => ({ channel, user: 'U1', text: channel, ts: `${now - 5}.000100` })));
    slack.methods['users.conversations'] = () => ({ channels: ['CGONE', ...ids].map((id) => ({ id })) });
    let asked = 0;
    slack.methods['conversations.history'] = (fields, answer) => {
      if (fields['channel'] === 'CGONE') return { ok: false, error: 'not_in_channel' };
      asked += 1;
      // prettier-ignore
      return asked === 20 ? void answer.writeHead(429, { 'retry-after': '1' }).end() : usual['conversations.history']!(fields, answer);
    };
    const open = slack.nextSocket();
    const { texts, stop } = listen(`${now - 10}.000000`);
    await open;
    slack.push(envelope('new', { text: 'new' }));
    await expect.poll(() => texts, { timeout: 10_000 }).toEqual([...ids, 'new']);
    await expect.poll(() => slack.acks).toContain('new');
    expect(asked).toBe(31);
    await stop();
  });

  test('has a position from when it is open on, so what is written before its first event is not lost', async () => {
    const { slack } = holder;
    const stop = new AbortController();
    const positions: (string | null)[] = [];
    const from = Date.now() / 1_000;
    const listening = platform().listen!(
      null,
      async (received, position) => {
        expect(received).toEqual([]);
        positions.push(position);
      },
      stop.signal,
    );
    await expect.poll(() => positions).toEqual([expect.stringMatching(/^\d+\.\d{6}$/)]);
    expect(Number(positions[0])).toBeGreaterThanOrEqual(Math.floor(from));
    stop.abort();
    await listening;
    const missed = { channel: 'D1', user: 'U1', text: 'before the first event', ts: (from + 2).toFixed(6) };
    slack.messages.push(missed);
    const texts: string[] = [];
    const end = new AbortController();
    const again = platform().listen!(
      positions[0]!,
      async (received) => void texts.push(...received.map((said) => ('text' in said ? said.text : ''))),
      end.signal,
    );
    await expect.poll(() => texts).toContain('before the first event');
    end.abort();
    await again;
  });

  test('is not waited for when the server does not greet, or when its end was asked for before', async () => {
    const { slack } = holder;
    const { 'apps.connections.open': usual } = slack.methods;
    const mute = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(mute, 'listening');
    const url = `ws://127.0.0.1:${(mute.address() as AddressInfo).port}`;
    let asked = 0;
    slack.methods['apps.connections.open'] = () => {
      asked += 1;
      return { url };
    };
    const listen = (until: AbortSignal) =>
      listenToSocket({
        appToken: 'xapp-1',
        baseUrl: slack.baseUrl,
        position: null,
        readEvent: () => [],
        readMissed: async function* () {},
        commit: async () => {},
        signal: until,
        openMs: 300,
      });
    await expect(listen(signal())).rejects.toMatchObject({
      kind: 'later',
      message: expect.stringContaining('in time'),
    });
    expect(asked).toBe(1);
    await listen(AbortSignal.abort());
    expect(asked).toBe(1);
    slack.methods['apps.connections.open'] = usual!;
    mute.close();
  });

  test('that cannot be opened says why', async () => {
    const { slack } = holder;
    const { 'apps.connections.open': usual } = slack.methods;
    slack.methods['apps.connections.open'] = () => ({ ok: false, error: 'invalid_auth' });
    await expect(platform().listen!(null, async () => {}, signal())).rejects.toMatchObject({ kind: 'unauthorized' });
    expect(await platform().check!(signal())).toEqual([expect.stringContaining('invalid_auth')]);
    slack.methods['apps.connections.open'] = usual!;
    expect(await platform().check!(signal())).toEqual([]);
  });
});
