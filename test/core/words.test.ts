// What things are called for people: each name from what is stored, without what was put around it.
import { describe, expect, test } from 'vitest';
import { announcementText, type SubagentEnd } from '../../src/core/subagents.ts';
import {
  callWords,
  costText,
  cronMark,
  describeEntry,
  moneyText,
  resultWords,
  simulatedNote,
  titleOfInput,
  titleOfRun,
  titleOfSession,
  titleOfWorker,
  type SessionNames,
} from '../../src/core/words.ts';
import { buildSteerPrompt } from '../../src/prompt/message-prompt.ts';
import { untrusted } from '../../src/tools/untrusted-result.ts';

const MARK = 'abcdef012345';
const END: SubagentEnd = {
  kind: 'subagent',
  runId: 'r',
  sessionId: 'abc-123',
  sessionKey: 'agent:main:subagent:x',
  label: 'research',
  status: 'ok',
  result: '\nTwo sources agree.\nThe rest follows.',
  runtimeMs: 45_000,
  inputTokens: 1,
  outputTokens: 1,
  isForUser: true,
  active: 0,
};

test.each([
  [{ path: 'a.txt', content: 'x' }, 'a.txt'],
  [{ timeout: 3, command: 'echo  yes\n && ls' }, 'echo yes && ls'],
  [{ city: 'Berlin' }, 'Berlin'],
  [{ a: 1, b: [2] }, '{"a":1,"b":[2]}'],
  [{}, null],
  ['{"cut":', '{"cut":'],
])('the words of a call with %j are %j', (input, words) => {
  expect(callWords(input)).toBe(words);
});

test.each([
  ['\n  yes\nno', 'yes'],
  [`${String.fromCodePoint(27)}[31mred${String.fromCodePoint(27)}[0m text`, 'red text'],
  [untrusted('Result of files', 'first\nsecond', MARK), 'first'],
  [`5 results by brave\n${untrusted('Search results', '1. A', MARK)}`, '5 results by brave'],
  ['<untrusted-data-7>\nrow\n</untrusted-data-7>', 'row'],
  ['{"status":"accepted","runId":"1"}', 'accepted'],
  [JSON.stringify({ content: [{ type: 'text', text: 'inside\nmore' }] }), 'inside'],
  [untrusted('Result of files', '{"error":{"message":"no such file"}}', MARK), 'no such file'],
  ['{"cut": "js', '{"cut": "js'],
  ['[exit code 0]', '[exit code 0]'],
  ['  \n', null],
])('the words of the result %j are %j', (text, words) => {
  expect(resultWords(text)).toBe(words);
});

test.each([
  ['message', 'Where is\n my order?', 'Where is my order?'],
  ['message', '', 'Message'],
  ['cron', `${cronMark({ id: 'c-1', name: 'Morning report' })}Write it.`, 'Morning report'],
  ['heartbeat', 'Read HEARTBEAT.md', 'Heartbeat'],
  ['compaction', 'keep names', 'Compaction'],
])('a %s %j is called %j', (kind, text, title) => {
  expect(titleOfInput({ kind, text, announcement: null })).toBe(title);
});

test.each([
  [{}, 'Subagent “research” completed: Two sources agree.'],
  [{ status: 'failed', error: 'the model said no.' }, 'Subagent “research” failed: the model said no.'],
  [{ status: 'timedOut', result: '' }, 'Subagent “research” timed out'],
] as const)('an announcement is called by what ended: %j', (more, title) => {
  const announcement = { ...END, ...more };
  expect(titleOfInput({ kind: 'announcement', text: null, announcement })).toBe(title);
});

test.each([
  ['running', null, 'Subagent “Find it”'],
  ['ok', null, 'Subagent “Find it” completed: Here.'],
  ['failed', 'no credit', 'Subagent “Find it” failed: no credit'],
] as const)('a run that is %s is called by its task and its end', (status, error, title) => {
  expect(titleOfRun({ label: null, task: 'Find it', status, error, result: 'Here.' })).toBe(title);
});

const NAMES: SessionNames = {
  key: 'agent:main:order-42',
  kind: 'other',
  label: null,
  channel: null,
  person: null,
  chat: null,
  input: null,
};
const tick = { kind: 'cron', text: `${cronMark({ id: 'c-1', name: 'Morning report' })}Write it.`, announcement: null };
const task = { kind: 'message', text: 'Find two sources\nfor it', announcement: null };

test.each<[Partial<SessionNames>, string]>([
  [{ label: 'Billing', person: 'Ada' }, 'Billing'],
  [{ channel: 'telegram', person: 'Ada' }, 'Ada · telegram'],
  [{ channel: 'api' }, 'order-42'],
  [{ kind: 'main', key: 'agent:main:main' }, 'Main session'],
  [{ kind: 'main', key: 'agent:shop:main' }, 'Main session of shop'],
  [{ kind: 'group', channel: 'slack', chat: 'Ops', person: 'Ada', key: 'agent:main:slack:group:7' }, 'Ops · slack'],
  [{ kind: 'group', channel: 'slack', person: 'Ada', key: 'agent:main:slack:group:7' }, 'group:7 · slack'],
  [{ kind: 'cron', key: 'agent:main:cron:c-1', input: tick }, 'Morning report'],
  [{ kind: 'subagent', key: 'agent:main:subagent:1', input: task }, 'Find two sources for it'],
  [{ kind: 'heartbeat', key: 'agent:shop:heartbeat' }, 'Heartbeat of shop'],
])('a session with %j is called %j', (names, title) => {
  expect(titleOfSession({ ...NAMES, ...names })).toBe(title);
});

test('a worker is called by its host and its number', () => {
  expect(titleOfWorker('host:42:01900000-0000-7000-8000-000000000000')).toBe('host:42');
  expect(titleOfWorker('w')).toBe('w');
});

test.each([
  [12.5, '$12.5000'],
  [0.00106, '$0.0011'],
  [0.00000105, '<$0.0001'],
  [0, '$0.0000'],
  [null, '-'],
])('%j dollars are written %j', (usd, text) => {
  expect(moneyText(usd)).toBe(text);
});

test('money that was not spent is marked once for all costs, or each cost among others', () => {
  const [paid, free] = [
    { costUsd: 1, simulated: false },
    { costUsd: 2, simulated: true },
  ];
  expect(costText(free)).toBe('$2.0000 simulated');
  expect([costText(free, [paid, free]), costText(paid, [paid, free])]).toEqual(['$2.0000 simulated', '$1.0000']);
  expect(simulatedNote([paid, free])).toBeNull();
  expect(costText(free, [free, free])).toBe('$2.0000');
  expect(simulatedNote([free, free])).toMatch(/^All of it is simulated/);
});

describe('an entry', () => {
  const said = (text: string, more: object = {}) => ({
    kind: 'prompt',
    text,
    parts: [{ name: 'body', start: 0, end: text.length }],
    clean: null,
    fromSession: null,
    ...more,
  });

  test('that announces subagents is said by the first of them, in a prompt and in a running turn', () => {
    const text = announcementText(END);
    const parts = [{ name: 'announcement', start: 0, end: text.length }];
    const shown = { author: { kind: 'subagent', name: 'Subagent “research”' } };
    const words = 'Subagent “research” completed: Two sources agree.';
    expect(describeEntry(said(text, { parts, clean: text }))).toEqual({ ...shown, words });
    expect(describeEntry(said(text, { kind: 'steer', parts: null }))).toEqual({ ...shown, words });
    const two = `${text}\n\n${announcementText({ ...END, label: 'other' })}`;
    expect(describeEntry(said(two, { parts })).words).toBe(`${words}, and 1 more`);
  });

  test('of a person has the name and the words of that person, without metadata', () => {
    const message = { text: 'Where is it?', channel: 'telegram', messageId: '7', sender: { id: '1', name: 'Ada' } };
    const { text } = buildSteerPrompt(message, { zone: 'utc', canSendMedia: false, isTranscribing: false });
    expect(text).toContain('(untrusted metadata)');
    const shown = { author: { kind: 'person', name: 'Ada' }, words: 'Where is it?' };
    expect(describeEntry(said(text, { kind: 'steer', parts: null }))).toEqual(shown);
    const end = text.indexOf('Where is it?');
    const parts = [
      { name: 'context', start: 0, end },
      { name: 'body', start: end, end: text.length },
    ];
    expect(describeEntry(said(text, { parts, clean: 'Where is it?' }))).toEqual(shown);
    expect(describeEntry(said('Hello'))).toEqual({ author: { kind: 'person', name: 'Person' }, words: 'Hello' });
  });

  test.each([
    [{ kind: 'answer' }, 'agent', 'Agent'],
    [{ kind: 'results', text: '' }, 'tools', 'Tools'],
    [{ kind: 'steer', text: '[holdfast] The provider paused your answer.' }, 'holdfast', 'Holdfast'],
    [{ parts: [{ name: 'heartbeat', start: 0, end: 1 }] }, 'heartbeat', 'Heartbeat'],
    [{ parts: [{ name: 'subagent-context', start: 0, end: 1 }] }, 'session', 'Another session'],
    [{ text: tick.text, parts: [{ name: 'cron', start: 0, end: tick.text.length }] }, 'cron', 'Cron “Morning report”'],
  ])('with %j is said by %s', (more, kind, name) => {
    expect(describeEntry(said('x', more)).author).toEqual({ kind, name });
  });
});
