// test/README.md lists every suite, and what it names exists.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const page = read('test/README.md');
const paths = [...page.matchAll(/`(test\/[\w./-]+)`/g)].map((match) => match[1] ?? '');

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
