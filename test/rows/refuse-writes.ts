// A database that refuses some writes, as no input makes it: for tests of what is left when a
// statement fails.
import { send, type Store } from './table.ts';

/**
 * Until the returned function is called, the table refuses the rows that meet a condition of `new`
 * and `old`.
 */
export async function refuseWrites(
  store: Store,
  {
    table,
    on = 'insert',
    when,
    code = '22003',
  }: { table: string; on?: 'insert' | 'update'; when: string; code?: string },
): Promise<() => Promise<void>> {
  await send(
    store,
    `create or replace function public.refuse_write() returns trigger language plpgsql as $$
     begin raise exception 'not here' using errcode = tg_argv[0]; end $$`,
  );
  await send(
    store,
    `create trigger refuse_write before ${on} on holdfast.${table} for each row when (${when})
     execute function public.refuse_write('${code}')`,
  );
  return async () => {
    await send(store, `drop trigger refuse_write on holdfast.${table}`);
  };
}

/**
 * Until the returned function is called, the upload of a batch is deleted while its items are
 * stored.
 */
export async function deleteUploads(store: Store): Promise<() => Promise<void>> {
  await send(
    store,
    `create function delete_upload() returns trigger language plpgsql as $$
     begin delete from holdfast.batches where id = new.batch_id; return null; end $$`,
  );
  await send(
    store,
    'create trigger delete_upload before insert on holdfast.batch_items for each row execute function delete_upload()',
  );
  return async () => {
    await send(store, 'drop function delete_upload cascade');
  };
}
