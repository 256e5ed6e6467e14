// The route of a message, which decides whether two of them may share a turn, and the key that
// makes it unique.
import { describe, expect, test } from 'vitest';
import {
  chooseRoute,
  derivePlatformKey,
  hasWordsOfOthers,
  isOfOwner,
  isOwner,
  type InboundMessage,
} from '../../src/core/inbound.ts';
import { canonicalSessionKey } from '../../src/core/session-key.ts';

const base: InboundMessage = { text: 'hi', channel: 'telegram', accountId: 'bot', chatId: '1', sender: { id: '42' } };

describe('chooseRoute (G6)', () => {
  test('messages that differ only in their text have equal routes', () => {
    const other: InboundMessage = {
      ...base,
      text: 'ho',
      messageId: '7',
      timestamp: 5,
      sender: { id: '43', name: 'Eve' },
    };
    expect(chooseRoute(other, ['1'])).toBe(chooseRoute(base, ['1']));
  });

  test.each<[string, Partial<InboundMessage>]>([
    ['channel', { channel: 'discord' }],
    ['account', { accountId: 'bot2' }],
    ['chat', { chatId: '2' }],
    ['thread', { thread: { label: 'x' } }],
    ['thread without a label', { thread: { starterBody: 'x' } }],
    ['reply address', { deliver: { url: 'https://example.org/hook' } }],
    ['authority of the sender', { sender: { id: 'boss' } }],
  ])('another %s makes another route', (_what, change) => {
    expect(chooseRoute({ ...base, ...change }, ['boss'])).not.toBe(chooseRoute(base, ['boss']));
  });

  test('parts cannot be shifted into each other', () => {
    const shifted: InboundMessage = { ...base, accountId: 'bot","1', chatId: '' };
    expect(chooseRoute(shifted, [])).not.toBe(chooseRoute(base, []));
  });

  test('a message without a channel is one of the api', () => {
    expect(chooseRoute({ text: 'a' }, [])).toBe(chooseRoute({ text: 'b', channel: 'api' }, []));
  });
});

describe('isOwner', () => {
  test('an owner is known by id or phone number, bare or with the channel in front', () => {
    expect(isOwner(base, ['42'])).toBe(true);
    expect(isOwner(base, ['telegram:42'])).toBe(true);
    expect(isOwner({ text: '', sender: { e164: '+15551234567' } }, ['+15551234567'])).toBe(true);
  });

  test('a name alone does not make a sender an owner', () => {
    expect(isOwner({ text: '', sender: { id: '1', name: '42', username: '42', tag: '42' } }, ['42'])).toBe(false);
    expect(isOwner(base, ['discord:42'])).toBe(false);
    expect(isOwner({ text: '', sender: { id: '' } }, [''])).toBe(false);
  });
});

describe('an input has words of others', () => {
  test.each<[string, { kind?: string; [field: string]: unknown }]>([
    ['a sender who is no owner', { sender: { id: '43' } }],
    ['a program', { plugin: 'mail' }],
    ['a forwarded message', { forwarded: { from: 'Eve' } }],
    ['a message that the sender may not have written', { isOwnText: false }],
    ['a quoted message', { replyTo: { body: 'x' } }],
    ['the beginning of a thread', { thread: { starterBody: 'x' } }],
    ['earlier messages of a thread', { thread: { historyBody: 'x' } }],
    ['a file', { media: [{ path: '/x' }] }],
    ['a subagent', { kind: 'announcement' }],
    ['the cron of an agent', { kind: 'cron', isOfAgent: true }],
    ['the poll of such a cron', { kind: 'heartbeat', isOfAgent: true }],
  ])('of %s', (_whose, { kind = 'message', ...body }) => {
    expect(hasWordsOfOthers({ kind, body: { ...base, ...body } }, ['42'])).toBe(true);
  });

  test.each<[string, { kind?: string; [field: string]: unknown }]>([
    ['an owner', {}],
    ['an owner in a thread who answers a message', { thread: { id: '7' }, replyTo: { id: '8' } }],
    ['a caller who names no sender', { sender: undefined }],
    ['the cron of a person', { kind: 'cron', cronId: 'c' }],
    ['a poll', { kind: 'heartbeat' }],
  ])('but not of %s', (_whose, { kind = 'message', ...body }) => {
    expect(hasWordsOfOthers({ kind, body: { ...base, ...body } }, ['42'])).toBe(false);
  });
});

test('a message that an owner only passes on is not of an owner', () => {
  const input = (facts: object) => ({ kind: 'message', body: { ...base, ...facts } });
  expect(isOfOwner(input({ replyTo: { body: 'x' } }), ['42'])).toBe(true);
  expect(isOfOwner(input({ forwarded: {} }), ['42'])).toBe(false);
  expect(isOfOwner(input({ isOwnText: false }), ['42'])).toBe(false);
});

test('the platform id of a message is unique per channel, account and chat, and per session without a chat (G2)', () => {
  const [key, other] = [canonicalSessionKey('main'), canonicalSessionKey('other')];
  const message = { text: 'hi', messageId: '7' };
  expect(derivePlatformKey(key, { text: 'hi' })).toBeNull();
  expect(derivePlatformKey(key, message)).toBe(derivePlatformKey(key, { ...message, text: 'changed', channel: 'api' }));
  const chat = { ...message, chatId: 'c' };
  expect(derivePlatformKey(other, chat)).toBe(derivePlatformKey(key, chat));
  const keys = [
    derivePlatformKey(key, message),
    derivePlatformKey(other, message),
    derivePlatformKey(key, chat),
    derivePlatformKey(key, { ...chat, accountId: 'a' }),
    derivePlatformKey(key, { ...chat, channel: 'telegram' }),
    derivePlatformKey(key, { ...chat, messageId: '8' }),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});
