// The declared tables are those of the migrated database.
import { globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { getTableColumns, getTableName, is, Table, type Column } from 'drizzle-orm';
import { toSnakeCase } from 'drizzle-orm/casing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStoreRig, type StoreRig } from './store-rig.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const modules: object[] = await Promise.all(
  globSync('src/rows/*.ts', { cwd: ROOT }).map((file) => import(join(ROOT, file))),
);
const tables = modules.flatMap((module) => Object.values(module)).filter((one) => is(one, Table));

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

const COLUMNS = `select column_name as name, case when data_type = 'ARRAY' then ltrim(udt_name, '_') || '[]' else data_type end as type,
  is_nullable = 'NO' as "isRequired", column_default is not null as "hasDefault"
from information_schema.columns where table_schema = 'holdfast' and table_name = $1 order by column_name`;

const declared = (column: Column) => ({
  name: column.keyAsName ? toSnakeCase(column.name) : column.name,
  type: column.getSQLType(),
  isRequired: column.notNull,
  hasDefault: column.hasDefault,
});

test.each(tables.map((table) => [getTableName(table), table]))('%s is declared as it is', async (name, table) => {
  const columns = Object.values(getTableColumns(table)).map(declared);
  const real = await rig.rows(COLUMNS, [name]);
  // A value that has a default may be required by those who insert rows.
  const defaults = new Map(columns.map((column) => [column.name, column.hasDefault]));
  const fitting = real.map((column) => ({ ...column, hasDefault: column.hasDefault && defaults.get(column.name) }));
  expect(columns.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(fitting);
});
