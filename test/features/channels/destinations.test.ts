// Where results go: a chat that a cron, a subagent, a batch or an agent names is checked when it is
// written, and becomes the URL of a delivery.
import { expect, test } from 'vitest';
import { loadConfig, type Config } from '../../../src/config.ts';
import { cronInput } from '../../../src/features/crons/config.ts';
import { addressOfChat } from '../../../src/config/schema-channels.ts';
import { toReceiver } from '../../../src/api/deliver-to.ts';
import { batchQuery } from '../../../src/features/batches/contract.ts';
import { parseReceiver } from '../../../src/core/channel-address.ts';
import { decideTarget } from '../../../src/kernel/rules/message-route.ts';
import { toDefinition } from '../../../src/features/crons/use-cases.ts';
import { toTickInput } from '../../../src/features/crons/rules/cron.ts';

const defaults = loadConfig({ env: {}, cwd: '/' });
const config = {
  ...defaults,
  channels: {
    ...defaults.channels,
    platforms: {
      telegram: { adapter: 'telegram', accounts: { main: {} } },
      slack: { adapter: 'slack', accounts: { one: {}, two: {} } },
      told: {},
    },
  },
} as unknown as Config;

const cronTo = (delivery: object) =>
  cronInput.parse({
    schedule: { kind: 'every', everyMs: '1h' },
    payload: { kind: 'agentTurn', message: 'Report.' },
    delivery: { mode: 'channel', ...delivery },
  });
const define = (delivery: object) => toDefinition(cronTo(delivery), { config, nowMs: 0 });

test('a cron delivers to a chat, by the only account of its channel', () => {
  const definition = define({ channel: 'telegram', chatId: '-100/1', threadId: '7' });
  const facts = { zone: 'utc', nowMs: 0, eventId: 'e', lastUrl: null };
  const { body } = toTickInput({ ...definition, id: 'c', origin: 'api' }, facts);
  expect(body.deliver).toEqual({ url: 'channel:telegram/main/-100%2F1/7' });
});

test.each([
  [
    { channel: 'told', chatId: '1' },
    'delivery.channel',
    '"told" is not a channel with an adapter; known: telegram, slack',
  ],
  [
    { channel: 'slack', chatId: '1' },
    'delivery.accountId',
    'is needed: the channel has several accounts, or none; known: one, two',
  ],
  [
    { channel: 'slack', accountId: 'three', chatId: '1' },
    'delivery.accountId',
    '"three" is not an account of slack; known: one, two',
  ],
])('a cron to %j is refused, with the field and what there is', (delivery, path, message) => {
  expect(() => define(delivery)).toThrow(expect.objectContaining({ path, message }));
});

test('requests to spawn and to start a batch name a chat in the same way', () => {
  const chat = { mode: 'channel', channel: 'slack', accountId: 'two', chatId: 'C1' } as const;
  expect(toReceiver(config, chat)).toEqual({ url: 'channel:slack/two/C1' });
  expect(() => toReceiver(config, { ...chat, accountId: 'x' })).toThrow(
    'deliver.accountId: "x" is not an account of slack',
  );
  expect(toReceiver(config, null)).toBeNull();
});

test('an upload of a batch and the command line name a chat by its address', () => {
  const { deliver } = batchQuery.parse({ deliver: 'channel:slack/two/C1/17.5' });
  expect(parseReceiver(deliver!)).toEqual({
    mode: 'channel',
    channel: 'slack',
    accountId: 'two',
    chatId: 'C1',
    threadId: '17.5',
  });
  expect(parseReceiver('https://hook.example/')).toEqual({ url: 'https://hook.example/' });
  expect(batchQuery.safeParse({ deliver: 'channel:slack' }).error?.message).toContain('channel:telegram/main/42');
});

test('a message of an agent to an open channel that is connected goes to its chat, and to another one to the webhook', () => {
  const channels = {
    known: ['telegram', 'slack', 'told'],
    open: ['*'],
    url: 'https://hook.example/',
    addressOf: (chat: Parameters<typeof addressOfChat>[1]) => addressOfChat(config, chat),
  };
  const urlOf = (channel: string, own: { accountId: string } | null = null) => {
    const route = own && { channel, ...own, address: {} };
    const target = decideTarget({ channel, to: '5' }, route, channels);
    return target.kind === 'target' ? target.url : target.reason;
  };
  expect(urlOf('telegram')).toBe('channel:telegram/main/5');
  expect(urlOf('told')).toBe('https://hook.example/');
  expect(urlOf('slack')).toContain('several accounts');
  expect(urlOf('slack', { accountId: 'two' })).toBe('channel:slack/two/5');
});
