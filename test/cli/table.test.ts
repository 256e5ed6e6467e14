import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { cut, layOutTable, type TableColumn } from '../../src/cli/table.ts';
import { harmless, harmlessJson, relativeTime } from '../../src/cli/terminal.ts';

const plain = (_style: string, text: string) => text;

const columns: TableColumn<[string, string, string]>[] = [
  { title: 'ID', value: (row) => row[0] },
  { title: 'NAME', value: (row) => row[1], dropOrder: 1 },
  { title: 'NOTE', value: (row) => row[2], dropOrder: 2 },
];

test('columns are as wide as their content', () => {
  expect(layOutTable(columns, [['1', 'long name', 'x']], 80, plain)).toEqual([
    'ID  NAME       NOTE',
    '1   long name  x',
  ]);
});

test('a narrow terminal loses the least important columns first, then the widest is cut', () => {
  const rows: [string, string, string][] = [['a-long-identifier', 'name', 'a note']];
  expect(layOutTable(columns, rows, 25, plain)).toEqual(['ID                 NAME', 'a-long-identifier  name']);
  expect(layOutTable(columns, rows, 20, plain)).toEqual(['ID', 'a-long-identifier']);
  expect(layOutTable(columns, rows, 10, plain)).toEqual(['ID', 'a-long-id…']);
});

test('a long text is shortened before a column leaves, but stays readable', () => {
  const withText = columns.map((column) => (column.title === 'NOTE' ? { ...column, isProse: true } : column));
  const rows: [string, string, string][] = [['1', 'name', 'a note that takes more room than there is']];
  expect(layOutTable(withText, rows, 36, plain)[1]).toBe('1   name  a note that takes more ro…');
  expect(layOutTable(withText, rows, 30, plain)).toEqual(['ID  NAME', '1   name']);
  expect(layOutTable(withText, rows, Number.POSITIVE_INFINITY, plain)[1]).toBe(`1   name  ${rows[0]?.[2]}`);
});

test('no line is wider than the terminal, for any cells', () => {
  const row = fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), fc.string());
  fc.assert(
    fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 10, max: 60 }), (rows, width) => {
      for (const line of layOutTable(columns, rows, width, plain)) expect(stringWidth(line)).toBeLessThanOrEqual(width);
    }),
  );
});

test('cells are one line each and move no cursor', () => {
  expect(layOutTable(columns, [['a\nb', '\u001b[2Jc', 'd']], 80, plain)[1]).toBe('a b  [2Jc  d');
});

test.each([
  ['日本', 4],
  ['é', 1],
  ['👍🏽', 2],
  ['abc', 3],
])('%s takes %d columns', (text, width) => {
  const columns: TableColumn<string>[] = [
    { title: '', value: (cell) => cell },
    { title: '', value: () => '|' },
  ];
  const line = layOutTable(columns, ['123456', text], Number.POSITIVE_INFINITY, plain).at(-1);
  expect(line).toBe(`${text}${' '.repeat(6 - width)}  |`);
});

test('cutting keeps whole characters', () => {
  expect(cut('日本語', 4)).toBe('日…');
});

test('text from elsewhere cannot drive the terminal', () => {
  expect(harmless('a\u001b]0;title\u0007b\u001b[2J\u001b[8mc\u202e\td\n', true)).toBe('a]0;titleb[2Jc\td\n');
  expect(harmless('\u001b[32mok\u001b[39m', true)).toBe('\u001b[32mok\u001b[39m');
  expect(harmless('\u001b[32mok\u001b[39m', false)).toBe('ok');
});

test('JSON at a terminal cannot drive it either, and has the same value', () => {
  const value = { text: 'a\u009b2J\u202eb\u007f\n' };
  const json = harmlessJson(JSON.stringify(value, undefined, 2));
  expect(json).toBe(String.raw`{${'\n'}  "text": "a\u009b2J\u202eb\u007f\n"${'\n'}}`);
  expect(JSON.parse(json)).toEqual(value);
});

test.each([
  [0, 'now'],
  [59_000, '59s ago'],
  [61_000, '1m ago'],
  [7_300_000, '2h ago'],
  [-90_000_000, 'in 1d'],
])('%d ms before is %s', (beforeMs, words) => {
  expect(relativeTime(1_000_000_000 - beforeMs, 1_000_000_000)).toBe(words);
});
