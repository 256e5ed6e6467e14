// Types are nouns, and no two exported types share a name. A CTE of a statement is named for the
// rows that it holds.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');

/** Participles and words of many meanings that were names of types once. */
const NO_TYPES: ReadonlySet<string> = new Set(
  (
    'Found Settled Kept Seen Reached Wanted Drained Joined Fixed Gathered Decided Begun Unanswered Outcome Ending Ended RunEnd ' +
    'BatchEnd CallEnd PollEnd Outreach Aftermath SettledAnswer'
  ).split(' '),
);

/** Names of CTEs that did not say which rows they hold. */
const NO_CTES = ['hushed', 'lettered', 'told', 'rung_for', 'moved_kin', 'kin_change', 'unwaited'];

const sources = globSync('{src,workers,jobs}/**/*.ts', { cwd: ROOT }).map((file) => ({
  file,
  text: readFileSync(join(ROOT, file), 'utf8'),
}));

interface TypeName {
  name: string;
  file: string;
  isExported: boolean;
}

const types = sources.flatMap(({ file, text }): TypeName[] =>
  [...text.matchAll(/^(export )?(?:type|interface|(?:abstract )?class) ([A-Z]\w*)\b/gm)].map(
    ([, exported, name = '']) => ({ name, file, isExported: exported !== undefined }),
  ),
);

test('no type has a participle or a word of many meanings as its name', () => {
  expect(types.length).toBeGreaterThan(500);
  expect(types.filter(({ name }) => NO_TYPES.has(name))).toEqual([]);
});

test('no two exported types share a name', () => {
  const byName = Map.groupBy(
    types.filter(({ isExported }) => isExported),
    ({ name }) => name,
  );
  const shared = [...byName].filter(([, places]) => new Set(places.map(({ file }) => file)).size > 1);
  expect(shared.map(([name, places]) => `${name}: ${places.map(({ file }) => file).join(', ')}`)).toEqual([]);
});

test('no CTE has a name that does not say which rows it holds', () => {
  const names = sources.flatMap(({ file, text }) =>
    [...text.matchAll(/\b(\w+) as (?:not )?(?:materialized )?\(/g)].map(([, name = '']) => ({ file, name })),
  );
  expect(names.length).toBeGreaterThan(100);
  expect(names.filter(({ name }) => NO_CTES.includes(name))).toEqual([]);
});
