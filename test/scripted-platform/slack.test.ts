// The scripted Slack as Slack's own clients read it: its wires, its checks, and the faults and
// people that a test plays.
import { SocketModeClient, LogLevel } from '@slack/socket-mode';
import { WebClient } from '@slack/web-api';
import { createHmac } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SLACK_APP, startScriptedSlack, type ScriptedSlack } from '../../scripted-platform/slack/scripted-slack.ts';
import { openReceiver, type Receiver } from './receiver.ts';

let slack: ScriptedSlack;
let receiver: Receiver;
let client: WebClient;
let closing: (() => unknown)[] = [];

const clientOf = (token: string): WebClient =>
  new WebClient(token, {
    slackApiUrl: slack.apiUrl,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    logLevel: LogLevel.ERROR,
  });

beforeEach(async () => {
  slack = await startScriptedSlack({ pushTimeoutMs: 500, pushRetryMs: [5, 5, 5] });
  receiver = await openReceiver();
  client = clientOf(SLACK_APP.botToken);
  closing = [];
});

afterEach(async () => {
  for (const close of closing) await close();
  await slack.close();
  await receiver.close();
});

/** The code of a refused call. */
async function refusalOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return (error as { data?: { error?: string } } | undefined)?.data?.error ?? `not refused: ${String(error)}`;
}

interface Posted {
  event?: { type: string; subtype?: string; text?: string; channel?: string; channel_type?: string; reaction?: string };
  event_id?: string;
}

test('a bot posts, updates and finds its messages with their metadata', async () => {
  expect(await client.auth.test()).toMatchObject({
    ok: true,
    user_id: 'U0BOT',
    bot_id: 'B0BOT',
    team_id: 'T000000001',
  });
  const said = slack.say({ channel: 'C1', text: 'Hello' });
  const metadata = { event_type: 'delivery', event_payload: { id: 'd1' } };
  const sent = await client.chat.postMessage({ channel: 'C1', text: 'Hi', thread_ts: said.ts, metadata });
  const thread = await client.conversations.replies({ channel: 'C1', ts: said.ts, include_all_metadata: true });
  expect(thread.messages).toMatchObject([
    { text: 'Hello' },
    { text: 'Hi', ts: sent.ts, user: 'U0BOT', bot_id: 'B0BOT', metadata },
  ]);
  const plain = await client.conversations.history({ channel: 'C1' });
  expect(plain.messages?.map(({ text }) => text)).toEqual(['Hello']);
  await client.chat.update({ channel: 'C1', ts: sent.ts ?? '', text: 'Hi there' });
  expect(slack.messages('C1').at(-1)).toMatchObject({ text: 'Hi there', edited: { user: 'U0BOT' } });
  await client.reactions.add({ channel: 'C1', timestamp: said.ts, name: 'eyes' });
  expect(await refusalOf(client.reactions.add({ channel: 'C1', timestamp: said.ts, name: 'eyes' }))).toBe(
    'already_reacted',
  );
  expect(await client.conversations.info({ channel: 'C1' })).toMatchObject({
    channel: { id: 'C1', is_channel: true, is_member: true },
  });
  expect(await client.users.info({ user: 'U42' })).toMatchObject({ user: { id: 'U42', is_bot: false } });
});

test('history is read in pages, newest first, and after a time', async () => {
  const times = ['1', '2', '3', '4', '5'].map((text) => slack.say({ channel: 'C1', text, isLost: true }).ts);
  const first = await client.conversations.history({ channel: 'C1', limit: 3, oldest: times[0] ?? '' });
  expect([first.messages?.map(({ text }) => text), first.has_more]).toEqual([['5', '4', '3'], true]);
  const cursor = first.response_metadata?.next_cursor ?? '';
  const second = await client.conversations.history({ channel: 'C1', limit: 3, oldest: times[0] ?? '', cursor });
  expect([second.messages?.map(({ text }) => text), second.has_more]).toEqual([['2'], false]);
});

test('what Slack refuses is refused with its code', async () => {
  slack.say({ channel: 'C1', text: 'Hello' });
  slack.setChannel({ id: 'C2', isMember: false });
  slack.setChannel({ id: 'C3', isArchived: true });
  const post = (channel: string, rest: object): Promise<unknown> =>
    client.apiCall('chat.postMessage', { channel, ...rest });
  expect(await refusalOf(post('C9', { text: 'x' }))).toBe('channel_not_found');
  expect(await refusalOf(post('C2', { text: 'x' }))).toBe('not_in_channel');
  expect(await refusalOf(post('C3', { text: 'x' }))).toBe('is_archived');
  expect(await refusalOf(post('C1', {}))).toBe('no_text');
  expect(await refusalOf(post('C1', { text: 'x', thread_ts: '1.2' }))).toBe('thread_not_found');
  const section = { type: 'section', text: { type: 'mrkdwn', text: 'a'.repeat(3001) } };
  expect(await refusalOf(post('C1', { text: 'x', blocks: [section] }))).toBe('invalid_blocks');
  const long = await client.chat.postMessage({ channel: 'C1', text: 'a'.repeat(40_001) });
  expect([long.message?.text?.length, long.response_metadata?.warnings]).toEqual([40_000, ['message_truncated']]);
  expect(await refusalOf(client.chat.update({ channel: 'C1', ts: long.ts ?? '', text: 'a'.repeat(4001) }))).toBe(
    'msg_too_long',
  );
  expect(await refusalOf(clientOf('xoxb-wrong').auth.test())).toBe('invalid_auth');
  expect(await refusalOf(client.apps.connections.open())).toBe('not_allowed_token_type');
  expect(await refusalOf(client.apiCall('chat.nothing'))).toBe('unknown_method');
});

test('files go both ways', async () => {
  const said = slack.say({ text: 'See', files: [{ name: 'a.txt', text: 'words' }] });
  const channel = `D0${said.user}`;
  const url = (said.files as [{ url_private: string }])[0].url_private;
  const headers = { authorization: `Bearer ${SLACK_APP.botToken}` };
  expect(await (await fetch(url, { headers })).text()).toBe('words');
  expect(await (await fetch(url)).text()).toContain('Sign in');
  await client.filesUploadV2({
    channel_id: channel,
    file: Buffer.from('a,b'),
    filename: 'table.csv',
    initial_comment: 'Table',
  });
  const shown = slack.messages(channel).at(-1);
  expect(shown).toMatchObject({ text: 'Table', user: 'U0BOT', files: [{ name: 'table.csv', size: 3 }] });
});

test('events are posted, signed, once the receiver has answered with the challenge', async () => {
  await expect(slack.subscribe(receiver.url)).rejects.toThrow('did not answer with the challenge');
  const events = await eventsReceiver();
  await slack.subscribe(events.url);
  slack.say({ channel: 'C1', text: '<@U0BOT> hello' });
  await expect.poll(() => events.posted.length).toBe(2);
  const bodies = events.posted.map(({ body }) => body);
  // prettier-ignore
  expect(bodies.map(({ event }) => [event?.type, event?.channel, event?.text])).toEqual([['message', 'C1', '<@U0BOT> hello'], ['app_mention', 'C1', '<@U0BOT> hello']]);
  expect(bodies[0]?.event_id).not.toBe(bodies[1]?.event_id);
  for (const { headers, text } of events.posted) {
    // prettier-ignore
    const digest = createHmac('sha256', SLACK_APP.signingSecret).update(`v0:${String(headers['x-slack-request-timestamp'])}:${text}`).digest('hex');
    expect(headers['x-slack-signature']).toBe(`v0=${digest}`);
  }
  // prettier-ignore
  const sent = await client.chat.postMessage({ channel: 'C1', text: 'Sure?', blocks: [{ type: 'actions', elements: [{ type: 'button', text: { type: 'plain_text', text: 'Yes' }, action_id: 'answer', value: 'yes:1' }] }] });
  slack.press({ channel: 'C1', ts: sent.ts ?? '', button: 'Yes' });
  await expect.poll(() => events.posted.length).toBe(4);
  const payload = JSON.parse(new URLSearchParams(events.posted[3]?.text).get('payload') ?? '') as unknown;
  // prettier-ignore
  expect(payload).toMatchObject({ type: 'block_actions', user: { id: 'U42' }, channel: { id: 'C1' }, container: { message_ts: sent.ts }, actions: [{ action_id: 'answer', value: 'yes:1' }] });
});

test('an event that is not accepted is posted three more times, with the number and the reason', async () => {
  const events = await eventsReceiver();
  await slack.subscribe(events.url);
  events.answers.push(500, 500, 500, 500);
  slack.say('lost');
  await expect.poll(() => events.posted.length).toBe(4);
  // prettier-ignore
  expect(events.posted.map(({ headers }) => [headers['x-slack-retry-num'], headers['x-slack-retry-reason']])).toEqual([[undefined, undefined], ['1', 'http_error'], ['2', 'http_error'], ['3', 'http_error']]);
  expect(new Set(events.posted.map(({ body }) => body.event_id)).size).toBe(1);
  slack.disturb({ reorder: 2 });
  slack.say('first');
  slack.say('second');
  await expect.poll(() => events.posted.length).toBe(6);
  expect(events.posted.slice(4).map(({ body }) => body.event?.text)).toEqual(['second', 'first']);
});

test('edits, deletions and reactions of people are events', async () => {
  const events = await eventsReceiver();
  await slack.subscribe(events.url);
  const { ts } = slack.say('Helo');
  slack.edit({ ts, text: 'Hello' });
  slack.react({ ts, emoji: 'eyes' });
  slack.react({ ts, emoji: 'eyes', isAdded: false });
  slack.remove({ ts });
  await expect.poll(() => events.posted.length).toBe(5);
  const kinds = events.posted.map(({ body: { event } }) => event?.subtype ?? event?.type);
  expect(kinds).toEqual(['message', 'message_changed', 'reaction_added', 'reaction_removed', 'message_deleted']);
  expect(events.posted[1]?.body).toMatchObject({
    event: { message: { ts, text: 'Hello' }, previous_message: { text: 'Helo' } },
  });
});

test('over a socket, an event is sent again until it is acknowledged, and a socket that replaces another receives the next', async () => {
  const socket = new SocketModeClient({
    appToken: SLACK_APP.appToken,
    // The client waits for this long before it connects again.
    clientPingTimeout: 1000,
    logLevel: LogLevel.ERROR,
    clientOptions: { slackApiUrl: slack.apiUrl },
  });
  closing.push(() => socket.disconnect());
  const received: [string, number | undefined][] = [];
  let isAcknowledging = false;
  socket.on(
    'message',
    ({ ack, event, retry_num: attempt }: { ack: () => Promise<void>; event: { text: string }; retry_num?: number }) => {
      received.push([event.text, attempt]);
      if (isAcknowledging) void ack();
      isAcknowledging = true;
    },
  );
  await socket.start();
  expect(slack.socketCount()).toBe(1);
  slack.say('twice');
  await expect.poll(() => received).toEqual([['twice', 0], ['twice', 1]]); // prettier-ignore
  slack.dropSockets('refresh_requested');
  await expect.poll(() => slack.socketCount()).toBe(1);
  slack.say('after');
  await expect.poll(() => received.at(-1)).toEqual(['after', 0]);
  await expect.poll(() => slack.pushes.entries.at(-1)?.status).toBe(200);
});

test('apps see what the bots of others write in channels, and not their direct chats', async () => {
  const other = { id: 'A2', botToken: 'xoxb-2', appToken: 'xapp-2', botUser: 'U2BOT', botId: 'B2BOT' };
  const two = await startScriptedSlack({ apps: [{}, other] });
  closing.push(() => two.close());
  const events = await eventsReceiver();
  await two.subscribe(events.url, events.url, 'A2');
  two.say('Only for the first');
  two.say({ channel: 'C1', text: 'For both' });
  await new WebClient(SLACK_APP.botToken, { slackApiUrl: two.apiUrl }).chat.postMessage({
    channel: 'C1',
    text: 'Answer',
  });
  await expect.poll(() => events.posted.length).toBe(2);
  expect(events.posted.map(({ body }) => body)).toMatchObject([
    { api_app_id: 'A2', event: { text: 'For both', user: 'U42' } },
    { api_app_id: 'A2', event: { text: 'Answer', user: 'U0BOT', bot_id: 'B0BOT' } },
  ]);
});

test('calls meet the faults that are armed for their method and channel', async () => {
  slack.say({ channel: 'C1', text: 'Hello' });
  slack.say({ channel: 'C2', text: 'Hello' });
  slack.faults.arm({ method: 'chat.postMessage', chat: 'C1', retryAfter: 20 });
  await expect(client.chat.postMessage({ channel: 'C1', text: 'x' })).rejects.toMatchObject({ retryAfter: 20 });
  expect(await client.chat.postMessage({ channel: 'C2', text: 'x' })).toMatchObject({ ok: true });
  slack.faults.clear();
  slack.faults.arm({ status: 200, description: 'fatal_error' });
  expect(await refusalOf(client.chat.postMessage({ channel: 'C1', text: 'x' }))).toBe('fatal_error');
  slack.faults.arm({ kind: 'accept-then-close' });
  await expect(client.chat.postMessage({ channel: 'C1', text: 'kept' })).rejects.toThrow();
  expect(slack.messages('C1').map(({ text }) => text)).toEqual(['Hello', 'kept']);
  expect(slack.calls.entries.at(-1)).toMatchObject({
    method: 'chat.postMessage',
    chat: 'C1',
    fault: 'accept-then-close',
    isDone: true,
    status: null,
  });
});

/** An address for events that answers Slack's check. */
async function eventsReceiver() {
  const posted: { headers: http.IncomingHttpHeaders; text: string; body: Posted }[] = [];
  const answers: number[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body = (text.startsWith('{') ? JSON.parse(text) : {}) as Posted & { challenge?: string };
      if (body.challenge !== undefined) return response.end(body.challenge);
      posted.push({ headers: request.headers, text, body });
      return response.writeHead(answers.shift() ?? 200).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`, posted, answers };
}
