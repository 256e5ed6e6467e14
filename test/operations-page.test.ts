// docs/operations.md stays true: its table of time limits, its metrics and its flags are those of
// the code.
import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from '../src/core/time.ts';
import { configKeys } from '../scripts/references/config-keys.ts';
import { configReference } from '../scripts/references/config-reference.ts';
import { metricNames } from './docs/metric-names.ts';
import { readPage, ROOT, tableRows } from './docs/read-page.ts';

const page = readPage('docs/operations.md');
const limits = tableRows(page, ['what', 'default', 'set by']).map(([, value = '', setBy = '']) => ({ value, setBy }));

test('every duration of the configuration is a time limit with its default', () => {
  const expected = configKeys()
    // A duration without a default limits nothing until it is set.
    .filter(({ type, default: value }) => type === 'duration' && value !== 'none')
    .map(({ key, default: value }) => ({ setBy: `\`${key}\``, value: limitOf(key, value) }));
  expect(limits.filter(({ setBy }) => /^`[a-z]/.test(setBy)).toSorted(bySetting)).toEqual(expected.toSorted(bySetting));
});

test('every variable that is a duration is a time limit', () => {
  const named = configReference().match(/`HOLDFAST_[A-Z]+_MS`/g) ?? [];
  expect(limits.filter(({ setBy }) => setBy.startsWith('`HOLDFAST_')).map(({ setBy }) => setBy)).toEqual([...named]);
});

/**
 * The declared durations of the code by their names, as the page writes them; a name may stand in
 * several files.
 */
const fixed = Map.groupBy(
  globSync('{src,workers,jobs}/**/*.ts', { cwd: ROOT }).flatMap((file) =>
    [...readPage(file).matchAll(/const ([A-Z_]*MS[A-Z_]*) = ([0-9_* ]+);/g)].map(([, name = '', source = '']) => {
      const factors = source.split('*').map((factor) => Number(factor.replaceAll('_', '')));
      return { file, name, value: formatDuration(factors.reduce((product, factor) => product * factor, 1)) };
    }),
  ),
  ({ name }) => name,
);

test.each(limits.filter(({ setBy }) => setBy.startsWith('fixed')))('$setBy is $value', ({ value, setBy }) => {
  const [, name = ''] = /^fixed \(`([A-Z_]+)`\)$/.exec(setBy) ?? [];
  expect(fixed.get(name)?.map((one) => one.value)).toContain(value);
});

test('every budget for sending a statement again is a time limit', () => {
  const inStore = [...fixed.values()].flat().filter(({ file }) => file.startsWith('src/database/'));
  const named = inStore.map(({ name }) => name).filter((name) => name.endsWith('_RETRY_MS'));
  const listed = limits.flatMap(({ setBy }) => /\w+_RETRY_MS/.exec(setBy) ?? []);
  expect(named.toSorted()).toEqual(listed.toSorted());
});

test('every metric of Holdfast is on the page, and no other', () => {
  const names = [...metricNames].filter((name) => /^(holdfast|gen_ai)_/.test(name));
  const rows = tableRows(page, ['metric', '']).flatMap(
    ([cell = '']) => cell.match(/(?:holdfast|gen_ai)_[a-z_]+/g) ?? [],
  );
  expect(rows.toSorted()).toEqual(names.toSorted());
});

test('every flag of Node that a service has is explained', () => {
  const [list = ''] = readPage('src/cli/bin.mjs').match(/^const FLAGS = .*$/m) ?? [];
  const flags = list.match(/--[a-z0-9=-]+/g) ?? [];
  expect(flags).toHaveLength(3);
  expect(tableRows(page, ['flag', 'why']).map(([flag]) => flag)).toEqual(flags.map((flag) => `\`${flag}\``));
});

/** How the table writes a default: `2m` for 120 of `timeoutSeconds`. */
function limitOf(key: string, value: string): string {
  const parsed: unknown = JSON.parse(value);
  if (typeof parsed === 'string') return formatDuration(parseDuration(parsed) ?? Number.NaN);
  const unitMs = key.endsWith('Seconds')
    ? 1000
    : key.endsWith('Minutes')
      ? 60_000
      : key.endsWith('Hours')
        ? 3_600_000
        : 1;
  return parsed === 0 ? 'off' : formatDuration(Number(parsed) * unitMs);
}

function bySetting(a: { setBy: string }, b: { setBy: string }): number {
  return a.setBy.localeCompare(b.setBy);
}

test('every log message that the page lists is in the source', () => {
  const source = globSync('{src,workers,jobs}/**/*.ts', { cwd: ROOT }).map(readPage).join('\n');
  const messages = tableRows(page, ['`msg`', 'level', 'written', 'fields']).flatMap(([cell = '']) => [
    ...cell.matchAll(/`([^`]+)`/g),
  ]);
  expect(messages.length).toBeGreaterThan(20);
  // The name of a dependency is put into the message.
  const missing = messages
    .map(([, message = '']) => message.replace(/^The (?:database|queue|collector) is /, 'The ${dependency} is '))
    .filter((message) => !source.includes(message));
  expect(missing).toEqual([]);
});
