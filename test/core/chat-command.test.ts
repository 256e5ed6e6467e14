// Which texts are commands, their settings, and who is allowed to use them.
import { describe, expect, test } from 'vitest';
import {
  hasCommands,
  isReset,
  mayCommand,
  readChatCommand,
  readMessage,
  takeDirectives,
} from '../../src/kernel/rules/chat-command.ts';

test.each([
  ['/stop', { kind: 'stop' }],
  [' /STOP! ', { kind: 'stop' }],
  ['/stop@holdfast_bot', { kind: 'stop' }],
  ['/STOP@Holdfast_Bot!', { kind: 'stop' }],
  ['/compact@holdfast_bot keep the numbers', { kind: 'compact', instructions: 'keep the numbers' }],
  ['/think@holdfast_bot high', { kind: 'think', level: 'high' }],
  ['/queue@holdfast_bot steer', { kind: 'queue', change: { queueMode: 'steer' } }],
  ['/status', { kind: 'status' }],
  ['/compact', { kind: 'compact', instructions: '' }],
  ['/compact keep the numbers', { kind: 'compact', instructions: 'keep the numbers' }],
  ['/think', { kind: 'think', level: null }],
  ['/think HIGH', { kind: 'think', level: 'high' }],
  ['/help', { kind: 'help' }],
  ['/model', { kind: 'model', model: null }],
  ['/Model openai/gpt-x', { kind: 'model', model: 'openai/gpt-x' }],
  ['/usage', { kind: 'usage' }],
  ['/reasoning', { kind: 'reasoning', level: null }],
  ['/reasoning ON', { kind: 'reasoning', level: 'on' }],
  ['/reasoning stream', { kind: 'reasoning', level: 'stream' }],
  ['/queue', { kind: 'queue', change: null }],
  ['/queue steer', { kind: 'queue', change: { queueMode: 'steer' } }],
  [
    '/queue collect debounce:2s cap:25 drop:oldest',
    { kind: 'queue', change: { queueMode: 'collect', queueDebounceMs: 2000, queueCap: 25, queueDrop: 'old' } },
  ],
  ['/queue cap=3', { kind: 'queue', change: { queueCap: 3 } }],
  [
    '/queue default',
    { kind: 'queue', change: { queueMode: null, queueDebounceMs: null, queueCap: null, queueDrop: null } },
  ],
])('%j is a command', (text, command) => {
  expect(readChatCommand(text)).toEqual(command);
});

test.each([
  'stop',
  'please /stop',
  '/stop it',
  '/stopped',
  '/stop@',
  '/stop@holdfast_bot it',
  '/stop@example.com/x',
  '/new',
  '/help me',
  '/reasoning on this',
  'what does /status do?',
  '/queue steer look at this',
  '',
])('%j is something to be answered', (text) => {
  expect(readChatCommand(text)).toBeNull();
});

test.each(['/queue sideways', '/queue steer cap:0', '/queue collect drop:all', '/think harder', '/reasoning loud'])(
  '%j is explained to its sender',
  (text) => {
    const command = readChatCommand(text);
    expect(command?.kind).toBe('mistaken');
    expect(command).toHaveProperty('reply', expect.stringContaining(text.split(' ').at(-1) ?? ''));
  },
);

describe('directives within a message', () => {
  test('apply to that message and are removed from it', () => {
    expect(takeDirectives('/queue steer look at\nthis')).toEqual({ text: 'look at\nthis', mode: 'steer' });
    expect(takeDirectives('/queue@holdfast_bot steer look')).toEqual({ text: 'look', mode: 'steer' });
    expect(takeDirectives('look /think high at this')).toEqual({ text: 'look at this', thinking: 'high' });
    expect(takeDirectives('look\n  at this /queue interrupt')).toEqual({ text: 'look\n  at this', mode: 'interrupt' });
  });

  test('words that are none stay where they are', () => {
    for (const text of ['the /queue is long', 'a/queue steer', '/think about it', '  two  blanks  ']) {
      expect(takeDirectives(text)).toEqual({ text });
    }
  });
});

test('a trigger begins a new session, alone or with the first text of that session', () => {
  const triggers = ['/new', '/reset'];
  expect(
    ['/new', ' /NEW ', '/reset hello', '/new\nhello', '/new@holdfast_bot hello'].every((text) =>
      isReset(text, triggers),
    ),
  ).toBe(true);
  expect(['/newer', 'hello /new', '/new@', ''].some((text) => isReset(text, triggers))).toBe(false);
});

test('a configured owner may give commands, and no other named sender', () => {
  const from = (id: string) => ({ text: '/stop', sender: { id } });
  expect(mayCommand(from('42'), ['42'])).toBe(true);
  expect(mayCommand(from('43'), ['42'])).toBe(false);
  expect(mayCommand({ text: '/stop' }, ['42'])).toBe(true);
  expect(mayCommand(from('43'), [])).toBe(true);
});

test('a message of a sender who may command is read as a command or without its directives, any other as it is', () => {
  const sent = (text: string) => ({ text, sender: { id: '42' } });
  expect(readMessage(sent('/stop'), ['42'])).toEqual({ body: sent('/stop'), command: { kind: 'stop' } });
  expect(readMessage(sent('look /think high'), ['42'])).toEqual({
    body: { ...sent('look'), thinking: 'high' },
    command: null,
  });
  for (const text of ['/stop', 'look /think high']) {
    expect(readMessage(sent(text), ['43'])).toEqual({ body: sent(text), command: null });
  }
});

describe('only what the sender has written is a command', () => {
  const sent = { text: '/stop', channel: 'telegram', sender: { id: '42' } };

  test.each<[string, object]>([
    ['is forwarded', { forwarded: {} }],
    ['is not known to be the words of the sender', { isOwnText: false }],
    ['is of a program', { plugin: 'mail' }],
  ])('not what %s', (_how, facts) => {
    expect(readMessage({ ...sent, ...facts }, ['42']).command).toBeNull();
    expect(hasCommands({ ...sent, ...facts }, ['42'])).toBe(false);
    expect(readMessage({ ...sent, ...facts, text: 'Now /think high' }, [])).toEqual({
      body: { ...sent, ...facts, text: 'Now /think high' },
      command: null,
    });
  });

  test('an answer, a quote in another field and a file take nothing away', () => {
    const facts = { replyTo: { body: '/new' }, history: [{ body: '/new' }], media: [{ path: '/a' }] };
    expect(readMessage({ ...sent, ...facts }, ['42']).command).toEqual({ kind: 'stop' });
  });

  test.each(['> /queue steer', 'Look:\n> so /think high\n', '>>> a\nb /queue steer', '/queue\n> a\nsteer'])(
    'a quote has no directive: %j',
    (text) => {
      expect(takeDirectives(text)).toEqual({ text });
    },
  );

  test('a directive beside a quote is taken', () => {
    expect(takeDirectives('> use /queue steer\nNo, /queue collect please')).toEqual({
      text: '> use /queue steer\nNo, please',
      mode: 'collect',
    });
  });
});
