// The mirror of the tables equals the migrated tables.
import { getTableColumns, getTableName, is, Table } from 'drizzle-orm';
import { expect, test } from 'vitest';
import * as schema from '../../src/store/schema.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

interface ColumnRow {
  table_name: string;
  column_name: string;
  data_type: string;
  is_nullable: string;
}

test('every mirrored table has the columns of the database, with their types', async () => {
  const rows = await holder.rig.rows(
    `select table_name, column_name, data_type, is_nullable from information_schema.columns where table_schema = 'holdfast'`,
  );
  const real = Map.groupBy(rows as unknown as ColumnRow[], (row) => row.table_name);
  const tables = Object.values(schema).filter((one) => is(one, Table));
  expect(tables.length).toBeGreaterThan(8);
  for (const table of tables) {
    const mirrored = Object.values(getTableColumns(table)).map((column) => ({
      name: column.name,
      type: column.getSQLType().replace('timestamp with time zone', 'timestamp with time zone'),
      isNullable: !column.notNull,
    }));
    const made = (real.get(getTableName(table)) ?? []).map((row) => ({
      name: row.column_name,
      type: row.data_type,
      isNullable: row.is_nullable === 'YES',
    }));
    const byName = (one: { name: string }, other: { name: string }): number => (one.name < other.name ? -1 : 1);
    expect(mirrored.toSorted(byName), getTableName(table)).toEqual(made.toSorted(byName));
  }
});
