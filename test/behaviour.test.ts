// Compares docs/behaviour.md with the tree: what it says is built names a test that exists, and no row is missing.
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const STATES = ['built', 'differs', 'text only', 'planned'];

/** How many rows each chapter has. A behaviour may get a row; none may lose its row. */
const ROWS_MIN: Readonly<Record<string, number>> = { 1: 94, 2: 78, 3: 78, 4: 66, 5: 8 };

interface Row {
  /** `3.17`: the chapter and the number in it. */
  id: string;
  what: string;
  tests: { path: string; title: string }[];
  /** `built`, or another state with the reason behind it. */
  status: string;
}

const rows = readFileSync(join(ROOT, 'docs/behaviour.md'), 'utf8').split('\n').flatMap(readRow);

/** The rows of the tables: `| id | what | shown by | status |`; a `|` in a cell is written `\|`. */
function readRow(line: string): Row[] {
  const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
  const [, id = '', what = '', shownBy = '', status = ''] = cells;
  if (!/^\d\.\d+$/.test(id)) return [];
  return [{ id, what, tests: shownBy.split('<br>').flatMap(readTest), status }];
}

/** A test is written as a path, an angle, and its title. */
function readTest(entry: string): Row['tests'] {
  const match = /^`([^`]+)` › (.+)$/.exec(entry.trim());
  return match === null ? [] : [{ path: match[1] ?? '', title: (match[2] ?? '').replaceAll(String.raw`\|`, '|') }];
}

const sources = new Map<string, string>();

function sourceOf(path: string): string {
  let source = sources.get(path);
  if (source === undefined) {
    const place = join(ROOT, path);
    source = existsSync(place) ? readFileSync(place, 'utf8').replaceAll(/\\(['"`])/g, '$1') : '';
    sources.set(path, source);
  }
  return source;
}

function isInTree({ path, title }: Row['tests'][number]): boolean {
  return ["'", '"', '`'].some((quote) => sourceOf(path).includes(quote + title + quote));
}

test('every test that the table names is in the tree', () => {
  const missing = rows.flatMap(({ id, tests }) =>
    tests.filter((one) => !isInTree(one)).map(({ path, title }) => `${id}: ${path} › ${title}`),
  );
  expect(missing).toEqual([]);
});

test('what is built is shown by a test, and what is not says why', () => {
  const wrong = rows.filter(({ status, tests }) => {
    const [state = '', reason = ''] = status.split(/: (.*)/);
    if (!STATES.includes(state)) return true;
    return state === 'built' ? tests.length === 0 : reason === '';
  });
  expect(wrong.map(({ id, status }) => `${id}: ${status}`)).toEqual([]);
});

test('the rows of each chapter are numbered without gaps, and none is missing', () => {
  const byChapter = Map.groupBy(rows, ({ id }) => id.split('.')[0] ?? '');
  expect([...byChapter.keys()]).toEqual(Object.keys(ROWS_MIN));
  for (const [chapter, own] of byChapter) {
    expect(own.map(({ id }) => id)).toEqual(own.map((_, index) => `${chapter}.${index + 1}`));
    expect(own.length).toBeGreaterThanOrEqual(ROWS_MIN[chapter] ?? Infinity);
  }
});
