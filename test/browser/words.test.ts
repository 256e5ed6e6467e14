// Goal: what was said and done can be read. Pure: tool calls in words, and many of them as one run.
import { expect, test } from 'vitest';
import { argumentsLine, callsLine, lineOf, runsOf, type NamedCall } from '../../web/src/words/calls.ts';
import { textUntil } from '../../web/src/format/long-text.ts';

const calls = (count: number, name: string, state: NamedCall['state'] = 'done'): NamedCall[] =>
  Array.from({ length: count }, () => ({ name, state }));

test('a call is one line: its most telling argument, or all of them as JSON', () => {
  expect(argumentsLine({ timeoutMs: 5, command: '\n  echo a\necho b' })).toBe('echo a');
  expect(argumentsLine({ note: 'only one' })).toBe('only one');
  expect(argumentsLine({ n: 1, of: [2] })).toBe('{"n":1,"of":[2]}');
  expect(argumentsLine('{"cut')).toBe('{"cut');
  expect(argumentsLine({})).toBe('');
  expect(lineOf('x'.repeat(1_000))).toBe(`${'x'.repeat(300)}…`);
});

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
