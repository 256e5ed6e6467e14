// The sessions of chats: which share one, and that no two chats do that should not.
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalSessionKey, sessionKindOf } from '../../../../src/core/session-key.ts';
import { sessionKeyOf } from '../../../../src/features/channels/rules/session-key.ts';

type Settings = Parameters<typeof sessionKeyOf>[0];
type Scope = Settings['session']['dmScope'];
type Chat = Parameters<typeof sessionKeyOf>[1];

const SCOPES = ['main', 'peer', 'channel-peer', 'account-channel-peer'] as const;

const settings = (dmScope: Scope = 'channel-peer'): Settings => ({
  session: { dmScope },
  channels: { platforms: { slack: { adapter: 'slack' }, telegram: { adapter: 'telegram' } } },
});
const digest = (text: string) => createHash('sha256').update(text).digest('hex');

interface Words {
  channel?: string;
  accountId?: string;
  chatType?: 'direct' | 'group' | 'channel';
  chatId?: string;
  threadId?: string;
  senderId?: string;
  agent?: string;
}

function chat(words: Words): Chat {
  const { channel = 'telegram', accountId = 'work', agent = 'ops', senderId = '42' } = words;
  const { chatId = senderId, threadId, chatType = 'direct' } = words;
  const place = { chatId, chatType, ...(threadId === undefined ? {} : { threadId }) };
  return { agent, channel, accountId, message: { place, sender: { id: senderId } } };
}

const keyOf = (words: Words, scope?: Scope) => sessionKeyOf(settings(scope), chat(words), digest);

test.each([
  ['main', {}, 'agent:ops:main'],
  ['main', { threadId: '7' }, 'agent:ops:main'],
  ['peer', {}, 'agent:ops:direct:42'],
  ['peer', { channel: 'slack', threadId: '17.5' }, 'agent:ops:direct:42'],
  ['channel-peer', {}, 'agent:ops:telegram:direct:42'],
  ['channel-peer', { threadId: '7' }, 'agent:ops:telegram:direct:42:thread:7'],
  ['account-channel-peer', {}, 'agent:ops:telegram:work:direct:42'],
  ['main', { chatType: 'group', chatId: '-100123' }, 'agent:ops:telegram:group:-100123'],
  ['account-channel-peer', { chatType: 'group', chatId: '-1', threadId: '7' }, 'agent:ops:telegram:group:-1:thread:7'],
  ['peer', { channel: 'slack', chatType: 'channel', chatId: 'C0AB' }, 'agent:ops:slack:channel:c0ab'],
  ['channel-peer', { channel: 'slack', senderId: 'U0ADA', chatId: 'D1' }, 'agent:ops:slack:direct:u0ada'],
  ['channel-peer', { channel: 'signal', senderId: '+15551234567' }, 'agent:ops:signal:direct:+15551234567'],
] as const)('with dmScope %s, %j belongs to %s', (scope, words, key) => {
  expect(keyOf(words, scope)).toBe(key);
});

test('an id that a key cannot hold is written otherwise, and never as another id', () => {
  expect(keyOf({ senderId: 'aB/c' })).toBe('agent:ops:telegram:direct:a@b@47@c');
  expect(keyOf({ senderId: 'a:b' })).toBe('agent:ops:telegram:direct:a@58@b');
  expect(keyOf({ senderId: 'heartbeat' })).toBe('agent:ops:telegram:direct:@104@eartbeat');
  expect(keyOf({ channel: 'slack', senderId: 'u0ada' })).toBe('agent:ops:slack:direct:@u0@a@d@a');
  expect(keyOf({ channel: 'cron', senderId: '1' })).toBe('agent:ops:@99@ron:direct:1');
  const long = keyOf({ chatType: 'group', chatId: 'x'.repeat(300), threadId: '1' });
  expect(long).toMatch(/^agent:ops:group:@-[0-9a-f]{64}$/);
  expect(keyOf({ chatType: 'group', chatId: 'x'.repeat(300), threadId: '2' })).not.toBe(long);
});

const id = fc.oneof(
  fc.string({ unit: fc.constantFrom(...Array.from('aAbB1@:_-+.é')), minLength: 1, maxLength: 6 }),
  fc.constantFrom('direct', 'group', 'thread', 'heartbeat', 'main', 'cron', 'subagent', 'U1', 'u1', '-1'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
);
const place = fc.record({
  channel: fc.oneof(fc.constantFrom('slack', 'telegram'), id),
  accountId: id,
  chatType: fc.constantFrom('direct', 'group', 'channel'),
  chatId: id,
  senderId: id,
  thread: fc.option(id),
});
const wordsOf = ({ thread, ...rest }: typeof place extends fc.Arbitrary<infer Value> ? Value : never): Words =>
  thread === null ? rest : { ...rest, threadId: thread };

/** What makes a session one of its own. */
function identityOf({ channel, accountId, chatType, chatId, senderId, threadId }: Words, scope: Scope): string {
  if (chatType !== 'direct') return JSON.stringify([channel, chatType, chatId, threadId]);
  if (scope === 'main') return 'main';
  if (scope === 'peer') return JSON.stringify([senderId]);
  return JSON.stringify([channel, scope === 'channel-peer' ? null : accountId, 'direct', senderId, threadId]);
}

test('keys are canonical, say what kind of chat it is, and are equal only for the same session', () => {
  fc.assert(
    fc.property(fc.constantFrom(...SCOPES), fc.array(place, { minLength: 2, maxLength: 8 }), (scope, places) => {
      const identities = new Map<string, string>();
      for (const words of places.map(wordsOf)) {
        const key = keyOf(words, scope);
        expect(canonicalSessionKey(key)).toBe(key);
        const kind = words.chatType === 'direct' ? (scope === 'main' ? 'main' : 'direct') : 'group';
        expect(sessionKindOf(key)).toBe(kind);
        const identity = identityOf(words, scope);
        expect(identities.get(key) ?? identity).toBe(identity);
        identities.set(key, identity);
      }
    }),
    { numRuns: 200 },
  );
});
