// Bindings and lists of ids that cannot be meant: refused when the configuration is loaded.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agentOf, ConfigError, loadConfig } from '../../src/config.ts';
import { buildPollInput } from '../../src/features/heartbeats/poll-input.ts';

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-channels-'));
});
afterEach(() => rm(cwd, { recursive: true }));

const BASE = {
  agents: { list: [{ id: 'main' }, { id: 'support' }] },
  channels: {
    telegram: { adapter: 'telegram', accounts: { work: { token: '1:x' }, shop: { token: '2:x' } } },
    cli: {},
  },
};

async function faultsIn(file: object): Promise<string[]> {
  await writeFile(join(cwd, 'holdfast.json'), JSON.stringify({ ...BASE, ...file }));
  try {
    loadConfig({ env: {}, cwd, isTty: false });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(({ path, message }) => `${path} ${message}`);
  }
  return [];
}

test('bindings of what exists are accepted, also two that ask for the same and name the same agent', async () => {
  const bindings = [
    { agent: 'main', match: { channel: 'telegram' } },
    { agent: 'support', match: { channel: 'telegram', accountId: 'shop' } },
    { agent: 'support', match: { accountId: 'shop', channel: 'telegram' } },
    { agent: 'support', match: { chatId: '-100123', threadId: '7' } },
    { agent: 'support', match: { channel: 'cli' } },
  ];
  expect(await faultsIn({ bindings })).toEqual([]);
});

test('a binding that names no agent, channel or account is refused with the name that was probably meant', async () => {
  const bindings = [
    { agent: 'suport', match: { channel: 'telegramm' } },
    { agent: 'main', match: { channel: 'telegram', accountId: 'wrok' } },
    { agent: 'main', match: { channel: 'cli', accountId: 'work' } },
    { agent: 'main', match: { accountId: 'nowhere', guild: '1', team: '2' } },
  ];
  expect(await faultsIn({ bindings })).toEqual([
    'bindings[0].agent is "suport"; allowed: the id of an agent (did you mean "support"?)',
    'bindings[0].match.channel is "telegramm"; allowed: a key below "channels" (did you mean "telegram"?)',
    'bindings[1].match.accountId is "wrok"; allowed: the name of an account (did you mean "work"?)',
    'bindings[2].match.accountId is "work"; allowed: the name of an account (there is none)',
    'bindings[3].match.accountId is "nowhere"; allowed: the name of an account (known: work, shop)',
    'bindings[3].match is {"accountId":"nowhere","guild":"1","team":"2"}; allowed: guild (Discord) or team (Slack): no chat has both',
  ]);
});

test('two bindings that ask for the same and name different agents are refused', async () => {
  const bindings = [
    { agent: 'main', match: { channel: 'telegram', chatId: '-1' } },
    { agent: 'support', match: { chatId: '-1', channel: 'telegram' } },
  ];
  expect(await faultsIn({ bindings })).toEqual([
    'bindings[1] is {"agent":"support","match":{"channel":"telegram","chatId":"-1"}}; allowed: another match than that of bindings[0], which names another agent',
  ]);
});

test('a user name among ids of people or groups is refused', async () => {
  const accounts = { work: { token: '1:x', allowFrom: ['42', '@ada'], groupAllow: ['#general', '-1', '*'] } };
  const paths = (await faultsIn({ channels: { telegram: { adapter: 'telegram', accounts } } })).map((fault) =>
    fault.replace(/; allowed: .*/, ''),
  );
  expect(paths).toEqual([
    'channels.telegram.accounts.work.allowFrom[1] is "@ada"',
    'channels.telegram.accounts.work.groupAllow[0] is "#general"',
    'channels.telegram.accounts.work.groupAllow[2] is "*"',
  ]);
});

test('a heartbeat alerts a chat, whose channel and account are checked', async () => {
  const file = (target: object) => ({ agents: { defaults: { heartbeat: { target } }, list: [{ id: 'main' }] } });
  const chat = { mode: 'channel', channel: 'telegram', accountId: 'shop', chatId: '-100/1' };
  expect(await faultsIn(file(chat))).toEqual([]);
  const config = loadConfig({ env: {}, cwd, isTty: false });
  const input = buildPollInput(agentOf(config, 'main'), {
    occasion: 'interval',
    file: null,
    tasks: [],
    lastUrl: null,
    nowMs: 0,
  });
  expect(input.body.deliver).toEqual({ url: 'channel:telegram/shop/-100%2F1' });
  expect(await faultsIn(file({ ...chat, accountId: 'x' }))).toEqual([
    expect.stringMatching(
      /^agents\.defaults\.heartbeat\.target\.accountId .*an account of telegram; known: work, shop/,
    ),
  ]);
});

test('a mode that the adapter does not have is refused', async () => {
  const channels = { telegram: { ...BASE.channels.telegram, mode: 'socket' } };
  expect(await faultsIn({ channels })).toEqual([
    expect.stringMatching(/^channels\.telegram\.mode .*"poll" or "webhook" with the adapter "telegram"/),
  ]);
});
