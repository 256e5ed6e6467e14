// test/README.md lists every suite, and what it names exists.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const page = read('test/README.md');
const paths = [...page.matchAll(/`(test\/[\w./-]+)`/g)].map((match) => match[1] ?? '');

/** The folder whose files have the SQL of tests. */
const ROWS = 'test/rows/';

/** Tests of SQL itself: statements, migrations, versions, and every table whatever its name. */
const OF_SQL = [
  'test/api/tables-with.ts',
  'test/features/backup/commands.test.ts',
  'test/cli/wrong-databases.test.ts',
  'test/core/migration-locks.test.ts',
  'test/servers/small-disk.ts',
  'test/service/earlier-layouts.test.ts',
  'test/service/rig/next-version.ts',
  'test/statements.test.ts',
  'test/store/event-ids.test.ts',
  'test/store/migrate.test.ts',
  'test/features/keys/label-rows.test.ts',
  'test/features/keys/routes.test.ts',
  'test/features/retention/tables.test.ts',
  'test/store/retry-turn.test.ts',
  'test/workers/reconciler.test.ts',
];

/**
 * Judges compare many tables in one statement, between whose parts nothing changes; a fixture fills
 * a database once.
 */
const OF_MANY_TABLES = /^test\/(?:browser\/fixture|crash\/rig|service\/rig)\//;

/** Files that still have SQL of their own. */
const NOT_YET = [
  'test/api/scope-matrix.test.ts',
  'test/api/scope-world.ts',
  'test/browser/many-events.test.ts',
  'test/crash/many-subagents.test.ts',
  'test/service/event-stream.test.ts',
  'test/store/effects.test.ts',
];

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

test('every folder with tests is listed', () => {
  const folders = globSync('test/*/**/*.test.ts', { cwd: ROOT }).map((file) =>
    dirname(file).split('/').slice(0, 2).join('/'),
  );
  const listed = new Set(paths);
  expect(folders.length).toBeGreaterThan(10);
  expect([...new Set(folders)].filter((folder) => !listed.has(folder)).toSorted()).toEqual([]);
});

test('every path that the page names exists', () => {
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('every builder is in the file that the page names', () => {
  const builders = [...page.matchAll(/`(\w+)` in `(test\/[\w./-]+)`/g)].map(([, name = '', file = '']) => ({
    name,
    file,
  }));
  expect(builders.length).toBeGreaterThan(5);
  expect(builders.filter(({ name, file }) => !new RegExp(`function ${name}\\b`).test(read(file)))).toEqual([]);
});

test('every npm script that the page names exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = [...page.matchAll(/`npm (?:run )?(test[:a-z]*)`/g)].map((match) => match[1] ?? '');
  expect(named.length).toBeGreaterThan(2);
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
});

test('every link of the page leads to something', () => {
  const targets = [...page.matchAll(/\]\(([^)#]+)\)/g)].map((match) => match[1] ?? '');
  expect(targets.filter((target) => !existsSync(join(ROOT, 'test', target)))).toEqual([]);
});

test('SQL that names a table of the product is in test/rows, or is what a test is about', () => {
  const migrations = globSync('migrations/*.sql', { cwd: ROOT }).map(read).join('\n');
  const tables = [...migrations.matchAll(/create (?:unlogged )?table (?:if not exists )?holdfast\.(\w+)/gi)];
  const names = new RegExp(`\\bholdfast\\.(?:(?:${tables.map(([, name]) => name).join('|')})\\b|\\$\\{)`);
  const files = globSync('test/**/*.ts', { cwd: ROOT }).filter(
    (file) => !file.startsWith(ROWS) && names.test(read(file)),
  );
  const excepted = [...OF_SQL, ...NOT_YET];
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter((file) => !OF_MANY_TABLES.test(file) && !excepted.includes(file)).toSorted()).toEqual([]);
  expect(excepted.filter((file) => !files.includes(file))).toEqual([]);
});
