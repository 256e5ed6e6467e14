// What tests of locks and of versions do to a whole table, where no row says it.
import { send, type Store } from './table.ts';

/** Takes the lock of every row; fails if another holds one for ten seconds. */
export async function lockEveryRow(store: Store, table: string, column: string): Promise<void> {
  const update = `update holdfast.${table} set ${column} = ${column}`;
  await send(store, `set lock_timeout = '10s'; ${update}; reset lock_timeout`);
}

/** As before the migration that added this column. */
export async function removeColumn(
  store: Store,
  { table, column, migration }: { table: string; column: string; migration: string },
): Promise<void> {
  await send(store, `alter table holdfast.${table} drop column ${column}`);
  await send(store, 'delete from holdfast.migrations where name = $1', [migration]);
}
