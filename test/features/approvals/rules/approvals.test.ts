// Which calls a rule holds back, and what a person is shown of them.
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../../../src/core/entry.ts';
import {
  canonicalInput,
  findRule,
  isOfOthers,
  showCall,
  type ApprovalRule,
  type JudgedCall,
} from '../../../../src/features/approvals/rules.ts';

const rule = (more: Partial<ApprovalRule>): ApprovalRule => ({
  tools: ['*'],
  agents: [],
  when: [],
  ask: 'always',
  timeout: 1,
  ...more,
});

const outside = { isInside: false, isConfined: false, isOffline: false };
const inside = { isInside: true, isConfined: true, isOffline: true };
const call = (tool: string, more: Partial<JudgedCall> = {}): JudgedCall => ({
  tool,
  agentId: 'main',
  sandbox: outside,
  leavesWorkspace: false,
  isUntrusted: false,
  ...more,
});

describe('a rule', () => {
  test('decides if it is the first that matches the tool, the agent and one of its conditions', () => {
    const rules = [rule({ tools: ['read'], ask: 'never' }), rule({ tools: ['EX*'] }), rule({ agents: ['ops'] })];
    expect(findRule(rules, call('read', { agentId: 'ops' }))).toBeNull();
    expect(findRule(rules, call('exec'))).toEqual({ rule: rules[1], reasons: ['rule'] });
    expect(findRule(rules, call('write'))).toBeNull();
    expect(findRule(rules, call('write', { agentId: 'ops' }))?.rule).toBe(rules[2]);
  });

  test.each([
    ['outside-sandbox', ['exec', 'process', 'jira__create'], ['read', 'web_fetch']],
    ['outside-workspace', ['exec', 'process', 'jira__create'], ['read', 'web_fetch']],
    ['network', ['exec', 'process', 'web_fetch', 'jira__create'], ['read', 'write']],
    ['untrusted', [], ['exec', 'read', 'jira__create']],
  ] as const)('with the condition %s holds what cannot be known', (condition, held, free) => {
    const reasons = (tool: string, more: Partial<JudgedCall> = {}) =>
      findRule([rule({ when: [condition] })], call(tool, more))?.reasons ?? null;
    for (const tool of held) expect(reasons(tool)).toEqual([condition]);
    for (const tool of free) expect(reasons(tool)).toBeNull();
    expect(reasons('exec', { sandbox: inside })).toBeNull();
    expect(reasons('write', { leavesWorkspace: true })).toEqual(condition === 'outside-workspace' ? [condition] : null);
    expect(reasons('read', { isUntrusted: true })).toEqual(condition === 'untrusted' ? [condition] : null);
  });
});

describe('an entry of a transcript', () => {
  const entry = (kind: Entry['kind'], more: Partial<Entry> = {}) => ({ kind, content: [], ...more });
  const calls = (name: string, input: object = {}) =>
    entry('answer', { content: [{ type: 'tool_use', id: 'toolu_1', name, input }] });

  test('is of others if they have written a part of it, if its tool brings their words, or if it is a summary', () => {
    const theirs = [
      entry('summary'),
      entry('prompt', { provenance: { kind: 'others' } }),
      entry('steer', { provenance: { kind: 'inter_session', sourceSession: 'agent:main:other' } }),
      entry('prompt', { provenance: { kind: 'heartbeat', isOfOthers: true } }),
      entry('answer', { provenance: { kind: 'client' } }),
      ...[
        'web_fetch',
        ' Web_Search',
        'sessions_history',
        'memory_search',
        'memory_get',
        'jira__create',
        'toString',
      ].map((name) => calls(name)),
      ...['list', 'update', 'fires', undefined].map((action) => calls('cron', { action })),
      calls('subagents', { action: 'list' }),
      calls('process', { action: 'list' }),
      calls('canvas', { action: 'snapshot' }),
      calls('gateway', { action: 'status' }),
    ];
    const own = [
      entry('prompt', { provenance: null }),
      entry('prompt', { provenance: { kind: 'heartbeat' } }),
      entry('results'),
      ...['exec', 'read', 'message', 'session_status', 'sessions_spawn'].map((name) => calls(name)),
      ...['add', 'remove', 'run'].map((action) => calls('cron', { action })),
      calls('process', { action: 'poll' }),
      calls('canvas', { action: 'present' }),
    ];
    expect(theirs.filter((one) => !isOfOthers(one))).toEqual([]);
    expect(own.filter(isOfOthers)).toEqual([]);
  });
});

test('equal inputs have one text, whatever the order of their fields', () => {
  expect(canonicalInput({ b: [{ d: 1, c: 2 }], a: null })).toBe(canonicalInput({ a: null, b: [{ c: 2, d: 1 }] }));
  expect(canonicalInput({ a: '1' })).not.toBe(canonicalInput({ a: 1 }));
});

test('what a person is shown has the whole input, unseen characters as numbers, and a list of those that are not ASCII', () => {
  const shown = showCall('exec', { command: 'rm \u202egpj.x\u001b[2K\u200b\u0430\u00a0\u{e0041}' }, '/work\u0007');
  expect(shown).toBe(
    [
      'exec in /work<U+0007>',
      '{',
      '  "command": "rm <U+202E>gpj.x\\u001b[2K<U+200B>\u0430<U+00A0><U+E0041>"',
      '}',
      'Not ASCII: <U+202E>, <U+200B>, <U+0430> \u0430, <U+00A0>, <U+E0041>',
    ].join('\n'),
  );
});

test('a letter that looks like a Latin one is listed however many others there are, and a blank that is no space is a number', () => {
  const others = String.fromCodePoint(...Array.from({ length: 41 }, (_, at) => 0x4e00 + at));
  const shown = showCall(
    'exec',
    { a: others, command: 'c\u0430t\u034f\u17b4\u180b\u2800\u{1d5c4}\uff4b' },
    '/work',
  ).split('\n');
  expect(shown[3]).toBe('  "command": "c\u0430t<U+034F><U+17B4><U+180B><U+2800>\u{1d5c4}\uff4b"');
  expect(shown.at(-1)).toMatch(
    /^Not ASCII: <U\+0430> \u0430, <U\+034F>, <U\+17B4>, <U\+180B>, <U\+2800>, <U\+1D5C4> \u{1d5c4}, <U\+FF4B> \uff4b, <U\+4E00> .*, \.\.\.$/u,
  );
});
