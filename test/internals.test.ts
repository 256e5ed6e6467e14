// docs/internals.md stays true: the files, functions and statements that it names exist, the walk
// of a message is short and in one direction, and every cache that is keyed by object identity is
// listed with its owner. The decision records have the numbers that cite them, and a line each in
// their index.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const WALK_FILES_MAX = 20;
const page = read('docs/internals.md');

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The rows of the table in a section, as cells; without its head. */
function tableOf(heading: string): string[][] {
  const section = page.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function bare(cell = ''): string {
  return cell.replaceAll('`', '');
}

/** True when the file declares a function, a class or a constant of that name, or a method. */
function declares(path: string, name: string): boolean {
  return new RegExp(`\\b(?:function|class|const|interface|type) ${name}\\b|^ +(?:async )?${name}\\(`, 'm').test(
    read(path),
  );
}

const walk = tableOf('The walk of one message').map(([step, file, name]) => ({
  step: bare(step),
  file: bare(file),
  name: bare(name),
}));

test('every file that the page names exists', () => {
  const named = [...page.matchAll(/`((?:src|jobs|workers|migrations|test|bench)\/[\w./-]+)`/g)].map(
    (match) => match[1] ?? '',
  );
  expect(named.length).toBeGreaterThan(WALK_FILES_MAX);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('the walk of a message has at most 20 files, each once, and its functions exist', () => {
  expect(walk.map(({ step }) => step)).toEqual(walk.map((_, index) => String(index + 1)));
  expect(walk.length).toBeGreaterThan(10);
  expect(walk.length).toBeLessThanOrEqual(WALK_FILES_MAX);
  expect(new Set(walk.map(({ file }) => file)).size).toBe(walk.length);
  expect(walk.filter(({ file, name }) => !declares(file, name))).toEqual([]);
});

test('every function that the page places in a file is there', () => {
  const placed = [...page.matchAll(/`(\w+)` (?:in|of)\s`([\w./-]+\.ts)`/g)].map(([, name = '', file = '']) => ({
    name,
    file,
  }));
  expect(placed.length).toBeGreaterThan(3);
  expect(placed.filter(({ name, file }) => !declares(file, name))).toEqual([]);
});

test('every statement of a turn is in the file that the page names', () => {
  const statements = tableOf('The statements of a turn').map(([name, file]) => ({
    name: bare(name),
    file: bare(file),
  }));
  expect(statements.length).toBeGreaterThan(5);
  expect(
    statements.filter(({ name, file }) => !new RegExp(`/\\* ${name} \\*/|name: '${name}'`).test(read(file))),
  ).toEqual([]);
});

test('the page lists every cache that is keyed by object identity, and no other', () => {
  const listed = tableOf('Caches keyed by object identity').map(([file]) => bare(file));
  const sources = globSync('{src,workers,jobs}/**/*.ts', { cwd: ROOT });
  const keyed = sources.filter((file) => /\bWeak(?:Map|Set)\b/.test(read(file)));
  expect(listed.toSorted()).toEqual(keyed.toSorted());
});

/** The columns of the migrations whose names say that a process holds the row. */
function leaseColumns(): string[] {
  const found: string[] = [];
  for (const path of globSync('migrations/*.sql', { cwd: ROOT })) {
    let table = '';
    for (const line of read(path).split('\n')) {
      table = /^(?:create|alter) table (?:if (?:not )?exists )?holdfast\.(\w+)/.exec(line)?.[1] ?? table;
      const column = /\b(\w*(?:lease|leased|claimed|busy)_(?:expires_at|until)) timestamptz/.exec(line)?.[1];
      if (column !== undefined) found.push(`${table}.${column}`);
    }
  }
  return found;
}

const leases = tableOf('Leases').map(([column, , , renewal]) => ({ column: bare(column), renewal: renewal ?? '' }));

test('the page lists every lease', () => {
  const columns = leaseColumns();
  expect(columns.length).toBeGreaterThan(7);
  const listed = leases.map(({ column }) => column);
  expect(columns.filter((column) => !listed.includes(column))).toEqual([]);
});

test('the leases that the page calls renewed are those that the lease keeper keeps', () => {
  const renewed = leases.flatMap(({ renewal }) => /^renewed by `\w+` in `([^`]+)`/.exec(renewal)?.[1] ?? []);
  const keepers = globSync('{src,workers,jobs}/**/*.ts', { cwd: ROOT }).filter((file) =>
    /import \{[^}]*\b(?:keepLease|LeaseKeeper)\b[^}]*\} from '[./]+\/lease-keeper\.ts'/.test(read(file)),
  );
  expect(renewed.toSorted()).toEqual(keepers.toSorted());
});

/** The titles of the decision records by their file names. */
const records = new Map(
  globSync('docs/decisions/0*.md', { cwd: ROOT })
    .toSorted()
    .map((path) => [path.replace(/^.*\//, ''), read(path).split('\n', 1)[0] ?? '']),
);

test('decision records are numbered without a gap, and each title begins with its number', () => {
  const numbers = [...records.keys()].map((_, index) => index + 1);
  expect([...records.keys()].map((name) => Number(name.slice(0, 4)))).toEqual(numbers);
  expect([...records.values()].map((title) => Number(title.match(/^# (\d+)\. /)?.[1]))).toEqual(numbers);
});

test('the index of the decision records has each once, with its title and how far it holds', () => {
  const line = /^- \[(\d+)\]\((\S+)\) (.+) \((?:stands|(?:changed|overtaken) by \d+(?:, \d+)*)\)$/gm;
  const listed = [...read('docs/decisions/README.md').matchAll(line)].map(
    ([, number, name = '', title]) => [name, `# ${number}. ${title}`] as const,
  );
  expect(listed.length).toBe(records.size);
  expect(new Map(listed)).toEqual(records);
});
