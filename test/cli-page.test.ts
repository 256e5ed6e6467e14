// docs/cli.md names every exit code. The commands: test/reference-pages.test.ts.
import { expect, test } from 'vitest';
import { EXIT } from '../src/cli/cli-error.ts';
import { readPage, tableRows } from './docs/read-page.ts';

test('every exit code is a row', () => {
  const rows = tableRows(readPage('docs/cli.md'), ['code', 'means']).flatMap(([codes]) =>
    (codes ?? '').split(', ').map(Number),
  );
  expect(rows.toSorted((a, b) => a - b)).toEqual(Object.values(EXIT).toSorted((a, b) => a - b));
});
