// Goal: what was said and done can be read. Pure: tool calls in words, and many of them as one run.
import { expect, test } from 'vitest';
import type { Entry } from '../../web/src/api.ts';
import { rowsOf, shownRows } from '../../web/src/format/conversation.ts';
import { callsLine, runsOf, type NamedCall } from '../../web/src/words/calls.ts';
import { textUntil } from '../../web/src/format/long-text.ts';
import { piecesOf } from '../../web/src/format/visible-text.ts';
import { containerDepth, isDeeper } from '../../web/src/words/depth.ts';

const calls = (count: number, name: string, state: NamedCall['state'] = 'done'): NamedCall[] =>
  Array.from({ length: count }, () => ({ name, state }));

test('many calls are one line: their number, their tools, and how many did not end well', () => {
  expect(callsLine([...calls(36, 'exec'), ...calls(2, 'exec', 'failed')])).toBe('38 calls of exec, 2 failed');
  expect(callsLine([...calls(1, 'read'), ...calls(2, 'exec'), ...calls(1, 'exec', 'running')])).toBe(
    '4 calls: 3 exec, 1 read, 1 running',
  );
});

test('calls that follow each other are a run when there are enough of them, and words end it', () => {
  const items = ['hello', 1, 2, 'found', 3, 'and', 2, 2, 1];
  const runs = runsOf(items, (item) => (typeof item === 'number' ? calls(item, 'exec') : null), 4);
  expect(runs).toEqual(['hello', 1, 2, 'found', 3, 'and', { items: [2, 2, 1], calls: calls(5, 'exec') }]);
});

test('the beginning of a long text ends with a line, unless the line is too long', () => {
  expect(textUntil('one\ntwo\nthree', 9)).toBe('one\ntwo\n');
  expect(textUntil('short\nand a long line without an end', 20)).toBe('short\nand a long lin');
  expect(textUntil('all', 3)).toBe('all');
});

/**
 * An answer with a call, and the entry of its result. `kept`: what the service knows of the call.
 */
function callAndResult(n: number, isError: boolean, kept: Entry['calls']): Entry[] {
  const author = { kind: 'agent', name: 'Agent' } as const;
  const told = { author, words: null, calls: kept };
  const shared = { parentId: null, parts: null, ...told, turnId: 't', state: 'active', createdAt: '' } as const;
  const use = { type: 'tool_use', id: `c${n}`, name: 'exec', input: {} };
  const result = { type: 'tool_result', tool_use_id: `c${n}`, content: 'text', is_error: isError };
  return [
    { ...shared, id: `a${n}`, seq: 2 * n, kind: 'answer', role: 'assistant', content: [use] },
    { ...shared, id: `r${n}`, seq: 2 * n + 1, kind: 'results', role: 'user', content: [result] },
  ];
}

const UNSAID = { words: null, waitsFor: null, why: null };

test('a call has the state and the duration that the service knows, otherwise what its result says', () => {
  const known = (state: Entry['calls'][number]['state'], endedAt: string | null = '2026-01-01T00:00:02Z') => {
    return [{ ...UNSAID, id: 'c1', state, startedAt: '2026-01-01T00:00:00Z', endedAt }];
  };
  const shownOf = (isError: boolean, kept: Entry['calls'], until = 2) => {
    const [row] = rowsOf(callAndResult(1, isError, kept).slice(0, until));
    return row?.kind === 'said' ? row.calls.map(({ state, ms }) => [state, ms]) : null;
  };
  expect(shownOf(true, known('unknown'))).toEqual([['unknown', null]]);
  expect(shownOf(true, known('failed'))).toEqual([['failed', 2_000]]);
  expect(shownOf(false, [])).toEqual([['done', null]]);
  expect(shownOf(true, [])).toEqual([['failed', null]]);
  expect(shownOf(false, known('waiting'), 1)).toMatchObject([['waiting', expect.any(Number)]]);
  expect(shownOf(false, [], 1)).toEqual([['unknown', null]]);
});

test('a folded run shows the calls that failed, and those whose outcome is unknown', () => {
  const entries = [1, 2, 3, 4].flatMap((n) =>
    callAndResult(n, n > 2, n === 4 ? [{ ...UNSAID, id: 'c4', state: 'unknown', startedAt: '', endedAt: null }] : []),
  );
  const shown = shownRows(rowsOf(entries), () => false);
  expect(shown.flatMap((row) => (row.kind === 'said' ? row.calls.map(({ state }) => state) : row.kind))).toEqual([
    'run',
    'failed',
    'unknown',
  ]);
});

test('the depth of block quotes and lists is counted before a text is parsed', () => {
  expect(containerDepth('Words - and more > words\n\n---\n**bold** *it* -5 1.5')).toBe(0);
  expect(containerDepth('> one\n> > two\n>>> three')).toBeGreaterThanOrEqual(3);
  expect(containerDepth('- one\n  - two\n    1. three\n\n      > four')).toBe(4);
  expect(containerDepth(`text\n${'>'.repeat(3_500)} deep`)).toBe(3_500);
  expect(containerDepth(`${'- '.repeat(1_900)}deep`)).toBe(1_900);
  // Each line can continue the lists of the lines above it.
  const more = '- '.repeat(40);
  expect(containerDepth(`${more}a\nlazy\n${' '.repeat(80)}${more}b`)).toBe(80);
  // Code is not deep because it is indented.
  expect(containerDepth(`- list\n\n\`\`\`\n${' '.repeat(200)}x\n\`\`\``)).toBe(1);
});

test('a tree is as deep as its deepest node', () => {
  const tree = { children: [{}, { children: [{ children: [{}] }] }] };
  expect([2, 3].map((depth) => isDeeper(tree, depth))).toEqual([true, false]);
});

test('joiners are marks but where a script or a picture needs them', () => {
  const marksIn = (text: string) => piecesOf(text).flatMap(({ mark }) => mark ?? []);
  const ordinary = ['👨\u200d👩\u200d👧', '🏳️\u200d🌈', '👩🏽\u200d🚀', 'می\u200cخواهم', 'क्\u200dष', 'ශ්\u200dරී'];
  expect(ordinary.flatMap(marksIn)).toEqual([]);
  expect(marksIn('ad\u200dmin a\u200cb 👨\u200d x\u200d👧')).toEqual(['U+200D', 'U+200C', 'U+200D', 'U+200D']);
  expect(marksIn('می\u200fخ \u202eabc\u202c \u200b\u2066')).toEqual(['U+200F', 'U+202E', 'U+202C', 'U+200B', 'U+2066']);
});
