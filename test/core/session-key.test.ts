// Canonical session keys, and the meaning of their forms.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  agentIdOf,
  canonicalSessionKey,
  InvalidSessionKeyError,
  laneOf,
  sessionKindOf,
} from '../../src/core/session-key.ts';

describe('canonicalSessionKey', () => {
  test.each([
    ['main', 'agent:main:main'],
    ['Telegram:Direct:42', 'agent:main:telegram:direct:42'],
    ['agent:Ops:main', 'agent:ops:main'],
    ['a.b_c@d+e-f', 'agent:main:a.b_c@d+e-f'],
    ['agent', 'agent:main:agent'],
  ])('%s becomes %s', (raw, canonical) => {
    expect(canonicalSessionKey(raw)).toBe(canonical);
  });

  test.each([
    '',
    ' ',
    'a b',
    'a/b',
    'ключ',
    '\u212Aey',
    'a\n',
    'agent:',
    'agent:x',
    'agent::x',
    'agent:x:',
    'a'.repeat(201),
  ])('%j is refused with its value and the allowed form', (raw) => {
    expect(() => canonicalSessionKey(raw)).toThrow(InvalidSessionKeyError);
    expect(() => canonicalSessionKey(raw)).toThrow(/1 to 200 characters of a-z/);
  });

  test('200 characters are the maximum, and an expanded key is stable', () => {
    const canonical = canonicalSessionKey('a'.repeat(200));
    expect(canonicalSessionKey(canonical)).toBe(canonical);
    expect(() => canonicalSessionKey(`agent:ops:${'a'.repeat(191)}`)).toThrow(InvalidSessionKeyError);
  });

  test('canonicalising twice changes nothing', () => {
    const keys = fc.stringMatching(/^[A-Za-z0-9:_.@+-]{1,210}$/);
    fc.assert(
      fc.property(keys, (raw) => {
        let canonical;
        try {
          canonical = canonicalSessionKey(raw);
        } catch {
          return;
        }
        expect(canonicalSessionKey(canonical)).toBe(canonical);
        expect(agentIdOf(canonical)).not.toBe('');
      }),
    );
  });
});

test('the agent of a key is its second segment', () => {
  expect(agentIdOf(canonicalSessionKey('agent:ops:telegram:direct:agent:7'))).toBe('ops');
});

test.each([
  ['main', 'main', 'main'],
  ['direct:42', 'direct', 'main'],
  ['telegram:direct:42', 'direct', 'main'],
  ['telegram:bot1:dm:42', 'direct', 'main'],
  ['discord:group:9', 'group', 'main'],
  ['slack:channel:c1:thread:5', 'group', 'main'],
  ['subagent:0190', 'subagent', 'subagent'],
  ['cron:daily:run:1', 'cron', 'cron'],
  ['heartbeat', 'heartbeat', 'main'],
  ['main:heartbeat', 'heartbeat', 'main'],
  ['telegram:direct:42:heartbeat', 'heartbeat', 'main'],
  ['telegram:direct:heartbeat', 'direct', 'main'],
  ['telegram:direct:cron:1', 'direct', 'main'],
  ['openai-user:alice', 'other', 'main'],
  ['direct', 'other', 'main'],
])('%s is of kind %s and runs in lane %s', (raw, kind, lane) => {
  const found = sessionKindOf(canonicalSessionKey(raw));
  expect([found, laneOf(found)]).toEqual([kind, lane]);
});
