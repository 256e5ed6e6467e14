import fc from 'fast-check';
import JSON5 from 'json5';
import { expect, test } from 'vitest';
import { findPlaces } from '../../src/config/load-file.ts';

test('keys and items are found on their lines, through comments, quotes, escapes and texts of many lines', () => {
  const text = [
    '// { not: "a key" }',
    '{',
    "  'it''s' /* : */ : 1,".replace("''", String.raw`\'`),
    String.raw`  "a\u0062": { c: [1,`,
    '    { d: "}", },',
    '  ] }, /* two',
    '  lines */ e:',
    String.raw`    'one \ `.trimEnd(),
    "two', null: -.5, // the end",
    '}',
  ].join('\n');
  expect([...findPlaces(text)].map(([path, { line }]) => [path, line])).toEqual([
    ['', 2],
    ["it's", 3],
    ['ab', 4],
    ['ab.c', 4],
    ['ab.c[0]', 4],
    ['ab.c[1]', 5],
    ['ab.c[1].d', 5],
    ['e', 7],
    ['null', 9],
  ]);
});

test('every value of every text is found, on the line that its key is written on', () => {
  const name = fc.stringMatching(/^[a-z]{1,8}$/);
  const values = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.string(),
      fc.integer(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(name, tie('value'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(name, values.value, { maxKeys: 4 }), fc.boolean(), (value, isJson5) => {
      const text = isJson5 ? JSON5.stringify(value, null, 2) : JSON.stringify(value, null, 2);
      const found = findPlaces(text);
      const paths = ['', ...pathsOf(value, '')];
      expect([...found.keys()].toSorted()).toEqual(paths.toSorted());
      for (const [path, { line }] of found) {
        const key = /\.?(\w+)$/.exec(path)?.[1];
        if (key !== undefined) expect(text.split('\n')[line - 1]).toContain(key);
      }
    }),
  );
});

function pathsOf(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const own = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    return [own, ...pathsOf(child, own)];
  });
}
