// What tests of locks and of versions do to a whole table, where no row says it.
import { send, type Store } from './table.ts';

/** Takes the lock of every row; fails if another holds one for ten seconds. */
export async function lockEveryRow(store: Store, table: string, column: string): Promise<void> {
  const update = `update holdfast.${table} set ${column} = ${column}`;
  await send(store, `set lock_timeout = '10s'; ${update}; reset lock_timeout`);
}

/** Takes the lock of one row until the client's transaction ends. */
export async function lockRow(client: Store, table: string, column: string, value: string): Promise<void> {
  await send(client, `select from holdfast.${table} where ${column} = $1 for update`, [value]);
}

/** They can be neither read nor written until the client's transaction ends. */
export async function lockTables(client: Store, ...tables: string[]): Promise<void> {
  await send(client, `lock table ${tables.map((table) => `holdfast.${table}`).join(', ')} in access exclusive mode`);
}

/** Without their rows, and those of the tables that refer to them. */
export async function emptyTables(store: Store, ...tables: string[]): Promise<void> {
  await send(store, `truncate ${tables.map((table) => `holdfast.${table}`).join(', ')} cascade`);
}

/** As before the migration that added this column. */
export async function removeColumn(
  store: Store,
  { table, column, migration }: { table: string; column: string; migration: string },
): Promise<void> {
  await send(store, `alter table holdfast.${table} drop column ${column}`);
  await send(store, 'delete from holdfast.migrations where name = $1', [migration]);
}

/** A table that no longer refuses what the constraint does. */
export async function dropConstraint(store: Store, table: string, constraint: string): Promise<void> {
  await send(store, `alter table holdfast.${table} drop constraint ${constraint}`);
}
