// docs/how-to/troubleshooting.md has an answer for every reason why something waits and every code
// with which a turn fails.
import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FAILURE_CODES, failureStep } from '../src/core/failure.ts';
import { NEXT_STEP_CODES } from '../src/kernel/rules/why.ts';
import { readPage, ROOT, tableRows } from './docs/read-page.ts';

const page = readPage('docs/how-to/troubleshooting.md');

const namesIn = (rows: readonly string[][]): string[] =>
  rows.flatMap(([first = '']) => [...first.matchAll(/`([a-z_]+)`/g)].map((match) => match[1] ?? ''));

/** Reasons that only items of batches have. */
const OF_ITEMS = ['batch_paused', 'batch_window'];

const reasons = namesIn(tableRows(readPage('docs/api.md'), ['`why.code`', 'what it waits for', '`by`']));

test.each(reasons)('a test brings something to wait with the code %s', (code) => {
  const tests = globSync('test/{api,features,openai,service,store,turn}/**/*.test.ts', { cwd: ROOT }).map(readPage);
  const expected = new RegExp(`code: '${code}'|'${code}',$`, 'm');
  expect(tests.some((source) => expected.test(source))).toBe(true);
});

test('every reason of a message or a turn has a next step, and no other', () => {
  expect([...NEXT_STEP_CODES, ...OF_ITEMS].toSorted()).toEqual(reasons.toSorted());
});

test('every reason of the table in the API page is there', () => {
  expect(reasons.length).toBeGreaterThan(15);
  const known = namesIn(tableRows(page, ['code', 'what to do']));
  expect(reasons.filter((code) => !known.includes(code))).toEqual([]);
});

test('every code with which a turn or a delivery fails is there with the next step that the product shows, and no other', () => {
  const sources = globSync('src/{core,kernel,features,model}/**/*.ts', { cwd: ROOT }).map(readPage).join('\n');
  const union = /type FailureCode =([^;]+);/.exec(readPage('src/core/failure.ts'))?.[1] ?? '';
  const thrown = [...sources.matchAll(/new TurnFailed\(\s*'([a-z_]+)'/g)].map((match) => match[1] ?? '');
  const codes = new Set([
    ...[...union.matchAll(/'([a-z_]+)'/g)].map((match) => match[1] ?? ''),
    ...thrown,
    // These are not thrown by name.
    'turn_timeout',
    'caller_timeout',
    'harness_failed',
    'harness_missing',
    'unknown_model',
    'output_invalid',
    'delivery_failed',
    'delivery_expired',
    'parent_gone',
  ]);
  expect(codes.size).toBeGreaterThan(30);
  expect([...FAILURE_CODES].toSorted()).toEqual([...codes].toSorted());
  const rows = tableRows(page.split('## A turn failed')[1] ?? '', ['code', 'what to do']);
  // A step is shown as it is, so it has no marks of Markdown.
  const shown = rows.flatMap((row) => namesIn([row]).map((code) => [code, row[1]?.replaceAll('`', '')]));
  expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(FAILURE_CODES.map((code) => [code, failureStep(code)])));
});
