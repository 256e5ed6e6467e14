// Migrations are applied in the order of their names, so a number names one of them.
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Two were made at the same time, and were applied under these names. */
const DOUBLED = ['0004'];

test('each number names one migration, but for the two that are named 0004', () => {
  const names = readdirSync(new URL('../migrations/', import.meta.url)).filter((name) => name.endsWith('.sql'));
  expect(names.filter((name) => !/^\d{4}_[a-z_]+\.sql$/.test(name))).toEqual([]);
  const counts = Map.groupBy(names, (name) => name.slice(0, 4));
  const doubled = [...counts].filter(([, sharing]) => sharing.length > 1);
  expect(doubled.map(([number, sharing]) => [number, sharing.length])).toEqual(DOUBLED.map((number) => [number, 2]));
});
