// docs/guarantees.md defines every promise that the code, the tests and the docs cite as `G7`, and
// says truly which files keep it and which tests prove it. Nothing in the repository cites a
// document that is not in it.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { safeguards } from './crash/rig/suite-mutants.ts';

const ROOT = resolve(import.meta.dirname, '..');
const PAGE = 'docs/guarantees.md';
/** The files with mutants. */
const MUTANTS = ['test/crash/mutants.test.ts', 'test/crash/rig/suite-mutants.ts'];

/**
 * The places where people read: sources, tests, benchmarks and pages. Applied migrations must not
 * change, so their comments may be old.
 */
const READ = [
  '{src,workers,jobs,test,bench,scripts,examples,demo,scripted-model,scripted-platform}/**/*.{ts,mjs,md}',
  'docs/**/*.md',
  '*.md',
];

/** Names of documents that readers of the repository do not have. */
const OUTSIDE = [
  /\b(?:CONTRACT|GUARANTEES|DESIGN|STYLE|ENGLISH)\b(?:\.md| section)/,
  /\breference\/[a-z-]+\.md/,
  /\bseed(?:s\/| \d{3}|-coverage)/,
  /\bthe (?:outside )?contract\b/i,
  /\bsource documents?\b/,
];

interface Row {
  /** `G7`. */
  number: string;
  promise: string;
  keptBy: string[];
  provenBy: string[];
  planned: string;
}

const rows = read(PAGE).split('\n').flatMap(readRow);
const files = globSync(READ, { cwd: ROOT }).filter((file) => !file.includes('node_modules') && file !== ownPath());

/** The rows of the tables: `| number | promise | kept by | proven by | planned |`. */
function readRow(line: string): Row[] {
  const [, number = '', promise = '', keptBy = '', provenBy = '', planned = ''] = line
    .split('|')
    .map((cell) => cell.trim());
  if (!/^G\d+$/.test(number)) return [];
  return [{ number, promise, keptBy: pathsIn(keptBy), provenBy: pathsIn(provenBy), planned }];
}

function pathsIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The comments of a source, and the whole text of a page. */
function commentsOf(path: string): string {
  const text = read(path);
  return path.endsWith('.md') ? text : (text.match(/\/\/.*$|\/\*[\s\S]*?\*\//gm) ?? []).join('\n');
}

function ownPath(): string {
  return 'test/guarantees.test.ts';
}

test('the promises are numbered without gaps', () => {
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.map(({ number }) => number)).toEqual(rows.map((_, index) => `G${index + 1}`));
});

test('every promise that is cited is defined', () => {
  const defined = new Set(rows.map(({ number }) => number));
  const undefinedOnes = files.flatMap((file) =>
    [...read(file).matchAll(/\bG\d{1,3}\b/g)]
      .filter(([cited]) => !defined.has(cited))
      .map(([cited]) => `${file}: ${cited}`),
  );
  expect(undefinedOnes).toEqual([]);
});

test('every promise names files that keep it and tests that prove it, or says that it is planned', () => {
  const wrong = rows.filter(({ promise, keptBy, provenBy, planned }) => {
    if (promise === '') return true;
    const isBuilt = keptBy.length > 0 && provenBy.some((path) => path.endsWith('.test.ts'));
    return !isBuilt && (planned === '' || keptBy.length > 0 || provenBy.length > 0);
  });
  expect(wrong.map(({ number }) => number)).toEqual([]);
});

test('every file that the page names exists', () => {
  const missing = rows.flatMap(({ number, keptBy, provenBy }) =>
    [...keptBy, ...provenBy].filter((path) => !existsSync(join(ROOT, path))).map((path) => `${number}: ${path}`),
  );
  expect(missing).toEqual([]);
});

test('every test that the page names cites the promise that it proves', () => {
  const silent = rows.flatMap(({ number, provenBy }) =>
    provenBy
      .filter((path) => existsSync(join(ROOT, path)) && !new RegExp(`\\b${number}\\b`).test(read(path)))
      .map((path) => `${number}: ${path}`),
  );
  expect(silent).toEqual([]);
});

test('every mutant that the page names is one, and the page names every mutant', () => {
  const named = new Set([...read(PAGE).matchAll(/mutant "([^"]+)"/g)].map((match) => match[1] ?? ''));
  const source = MUTANTS.map(read).join('\n');
  expect([...named].filter((name) => !source.includes(name))).toEqual([]);
  const existing = [...source.matchAll(/^ {4}name: '([^']+)'/gm)].map((match) => match[1] ?? '');
  expect(existing.length).toBeGreaterThan(0);
  expect(existing.filter((name) => !named.has(name))).toEqual([]);
});

test('the test beside a mutant is the one that is run on it', () => {
  const shown = [...read(PAGE).matchAll(/\| mutant "([^"]+)" \| [^|]+ \| `([^`]+)` \|/g)].map(([, name, file]) => [
    name,
    file,
  ]);
  expect(shown).toEqual(safeguards.map(({ name, test: file }) => [name, file]));
});

test('nothing cites a document outside the repository', () => {
  const citations = files.flatMap((file) => {
    const text = read(file);
    return OUTSIDE.flatMap((pattern) => {
      const match = pattern.exec(text);
      return match === null ? [] : [`${file}: ${match[0]}`];
    });
  });
  expect(citations).toEqual([]);
});

test('every page of docs that a comment cites by its path exists', () => {
  const missing = files.flatMap((file) =>
    [...commentsOf(file).matchAll(/(?<![\w/.-])docs\/[\w/-]+\.md\b/g)]
      .filter(([path]) => !existsSync(join(ROOT, path)))
      .map(([path]) => `${file}: ${path}`),
  );
  expect(missing).toEqual([]);
});
