// Alerts that go to a chat: a problem begins and ends in the database, rounds of two processes look,
// a relay sends what is in the outbox, and a scripted Telegram has what people see.
import { beforeEach, expect, test } from 'vitest';
import { runAlertRound } from '../../../src/features/alerts/rounds.ts';
import { relayChats } from '../../../src/features/deliveries/chat-relay.ts';
import { readAttention } from '../../../src/features/overview/views/attention.ts';
import type { Service } from '../../../src/kernel/use-cases/service.ts';
import type { SessionId } from '../../../src/core/ids.ts';
import { changeAlerts } from '../../rows/alerts.ts';
import { changeChannelGates } from '../../rows/channel-gates.ts';
import { readDeliveries } from '../../rows/deliveries.ts';
import { addModelBlocks, removeModelBlocks } from '../../rows/pauses.ts';
import { readSessions } from '../../rows/sessions.ts';
import { ago, ahead } from '../../rows/table.ts';
import { GROUP, useChannelRig } from '../channels/channel-rig.ts';

const holder = useChannelRig();
const CHAT = `channel:telegram/main/${GROUP}`;

beforeEach(async () => {
  const { api, telegram } = holder.rig;
  telegram.say({ from: 42, chat: GROUP, text: 'hello' });
  await removeModelBlocks(api);
  for (const { id } of (await api.get('/v1/alert-destinations')).body.items)
    await api.ask('DELETE', `/v1/alert-destinations/${id}`);
});

async function add(url: unknown, name = 'ops') {
  return await holder.rig.api.post('/v1/alert-destinations', { name, url, kinds: ['model_blocked'] });
}

async function round(changed: Partial<Service> = {}): Promise<void> {
  const { service, logger } = holder.rig.api.context;
  await runAlertRound({ service: { ...service, ...changed }, logger }, new AbortController().signal);
}

/** What the bot has written in the chat. */
const said = (): string[] =>
  holder.rig.telegram
    .messages(GROUP)
    .filter(({ from }) => from?.is_bot === true)
    .map(({ text }) => text ?? '');

/** Sends what is in the outbox. */
async function relay(): Promise<void> {
  const { context, turns } = holder.rig.api;
  const { config, publish } = context.service;
  const [session] = await readSessions(holder.rig.api, { key: 'agent:main:alerts' }, 'id');
  if (session === undefined) return;
  const owner = {
    database: turns.database,
    config,
    owner: 'relay',
    publish,
    random: () => 0,
    redact: (text: string) => text,
  };
  const never = new AbortController().signal;
  do await changeChannelGates(holder.rig.api, {}, { nextAt: ago('1 minute') });
  while (
    (await relayChats({ ...owner, logger: context.logger, onSettled: () => undefined }, session.id as SessionId, {
      signal: never,
      draining: never,
    })) > 0
  );
}

test('a problem is written in the chat once when it begins and once when it ends, whatever processes look at once', async () => {
  const { api } = holder.rig;
  expect(await add(CHAT)).toMatchObject({ status: 201, body: { url: CHAT, secret: null } });
  await addModelBlocks(api, { account: 'account', model: 'anthropic/claude-a', until: ahead('1 hour') });
  await Promise.all([round(), round()]);
  await round();
  await relay();
  expect(said()).toEqual([
    expect.stringMatching(/^warning: No worker calls anthropic\/claude-a for a time.*models unblock/),
  ]);
  expect((await api.get('/v1/alert-destinations')).body.items).toMatchObject([
    { url: CHAT, triedAt: expect.any(String), lastError: null, isSending: false },
  ]);
  await removeModelBlocks(api);
  await round();
  await changeAlerts(api, {}, { endedAt: ago('2 minutes') });
  await Promise.all([round(), round()]);
  await round();
  await relay();
  expect(said().slice(1)).toEqual([expect.stringMatching(/^ended: No worker calls anthropic\/claude-a/)]);
  expect(await readDeliveries(api, { sessionKey: 'agent:main:alerts' }, 'status')).toEqual([
    { status: 'sent' },
    { status: 'sent' },
  ]);
});

test('a destination whose chat does not get its messages counts as failing until one has arrived', async () => {
  const { api, telegram } = holder.rig;
  const { body } = await add(CHAT);
  const state = async () => (await api.get('/v1/alert-destinations')).body.items[0];
  const failing = async () => (await readAttention(api.context.reads)).some(({ kind }) => kind === 'alerts_failing');
  telegram.faults.arm({ kind: 'refuse', status: 403, description: 'Forbidden: bot was kicked' });
  await addModelBlocks(api, { account: 'account', model: 'anthropic/claude-a', until: ahead('1 hour') });
  await round();
  await relay();
  await round();
  expect(await state()).toMatchObject({
    lastError: expect.stringContaining('kicked'),
    failingSince: expect.any(String),
  });
  expect(await failing()).toBe(true);
  const { failingSince } = await state();
  // What is put into the outbox has not arrived.
  await addModelBlocks(api, { account: 'account', model: 'anthropic/claude-b', until: ahead('1 hour') });
  await round();
  expect(await state()).toMatchObject({ id: body.id, failingSince });
  await relay();
  await round();
  expect(await state()).toMatchObject({ lastError: null, failingSince: null });
  expect(await failing()).toBe(false);
});

test('a webhook is sent its alerts in the round in which the outbox for chats is not reached', async () => {
  const { api } = holder.rig;
  await add(CHAT);
  await add('http://127.0.0.1:9/hook', 'webhook');
  await addModelBlocks(api, { account: 'account', model: 'anthropic/claude-a', until: ahead('1 hour') });
  // An agent without a session for alerts, because its key would be too long.
  const { config } = api.context.service;
  const [agent] = config.agents.list;
  const list = [{ ...agent!, id: 'x'.repeat(600) }];
  await round({ config: { ...config, agents: { ...config.agents, list } } });
  expect((await api.get('/v1/alert-destinations')).body.items).toMatchObject([
    { name: 'ops', triedAt: null },
    { name: 'webhook', triedAt: expect.any(String), lastError: expect.any(String) },
  ]);
});

test('a destination may name the chat as crons do; what it names must be configured, and a chat stays a chat', async () => {
  const { api } = holder.rig;
  const chat = { mode: 'channel', channel: 'telegram', chatId: String(GROUP) };
  const { body } = await add(chat);
  expect(body).toMatchObject({ url: CHAT });
  const refused = async (url: unknown) => (await add(url, 'other')).body.errors[0];
  expect(await refused('channel:teams/main/1')).toMatchObject({
    path: 'url.channel',
    message: expect.stringContaining('known: telegram'),
  });
  expect(await refused({ ...chat, accountId: 'none' })).toMatchObject({ path: 'url.accountId' });
  for (const url of ['channel:telegram', 'channel:telegram/main/', 'ftp://example.com/x'])
    expect(await refused(url), url).toMatchObject({ path: 'url' });
  const moved = await api.ask('PATCH', `/v1/alert-destinations/${body.id}`, {
    payload: { url: 'https://example.com/hook' },
  });
  expect(moved).toMatchObject({ status: 400, body: { errors: [{ path: 'url' }] } });
  const thread = await api.ask('PATCH', `/v1/alert-destinations/${body.id}`, {
    payload: { url: { ...chat, threadId: '7' } },
  });
  expect(thread).toMatchObject({ status: 200, body: { url: `${CHAT}/7` } });
});

test('a test of a chat waits until its platform has the message, once for each key', async () => {
  const { api } = holder.rig;
  const { body } = await add(CHAT);
  const before = said().length;
  const testing = (key: string) => api.post(`/v1/alert-destinations/${body.id}/test`, {}, { 'idempotency-key': key });
  const first = testing('once');
  await expect
    .poll(async () => {
      await relay();
      return said().length;
    })
    .toBe(before + 1);
  expect(await first).toMatchObject({ status: 200, body: { isAcknowledged: true, status: null, error: null } });
  expect(await testing('once')).toMatchObject({ body: { isAcknowledged: true } });
  expect(said().slice(before)).toEqual(['This is a test of the alert destination ops of Holdfast.']);
});
