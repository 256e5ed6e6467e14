// Migrations are applied in the order of their names, so a number names one of them.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { needsOfMigration } from '../src/database/rules/migration-locks.ts';
import { takesAway } from './core/takes-away.ts';

/** Two were made at the same time, and were applied under these names. */
const DOUBLED = ['0004'];

const FOLDER = new URL('../migrations/', import.meta.url);
/** From here on, a version can be started on the layout of the next one. */
const FIRST_WITH_NEEDS = '0044_older_code.sql';

test('each number names one migration, but for the two that are named 0004', () => {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.sql'));
  expect(names.filter((name) => !/^\d{4}_[a-z_]+\.sql$/.test(name))).toEqual([]);
  const counts = Map.groupBy(names, (name) => name.slice(0, 4));
  const doubled = [...counts].filter(([, sharing]) => sharing.length > 1);
  expect(doubled.map(([number, sharing]) => [number, sharing.length])).toEqual(DOUBLED.map((number) => [number, 2]));
});

test('a migration that takes something away names the migration that running code must know (G26)', () => {
  const names = readdirSync(FOLDER).filter((name) => name >= FIRST_WITH_NEEDS && name.endsWith('.sql'));
  const sqlOf = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');
  expect(names.filter((name) => takesAway(sqlOf(name)) && needsOfMigration(sqlOf(name)) === null)).toEqual([]);
  const unknown = names.filter((name) => {
    const needs = needsOfMigration(sqlOf(name));
    return needs !== null && (!names.includes(needs) || needs >= name);
  });
  expect(unknown).toEqual([]);
});
