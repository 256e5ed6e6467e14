// A database that a newer version has migrated: which older versions may work with it (G26).
import { beforeEach, expect, test } from 'vitest';
import { migrate, pendingMigrations, requireLayout } from '../../src/store/migrate.ts';
import { createStoreRig } from './store-rig.ts';

let rig: Awaited<ReturnType<typeof createStoreRig>>;
beforeEach(async () => {
  rig = await createStoreRig();
  return () => rig.drop();
});

async function applyNext(name: string, needs: string | null): Promise<void> {
  await rig.rows(
    `insert into holdfast.migrations (name, sha256, needs) values ('${name}', '', ${needs === null ? 'null' : `'${needs}'`})`,
  );
}

test('this version starts on a layout with migrations of later versions that only add, and names them', async () => {
  await applyNext('9997_more.sql', null);
  await applyNext('9998_still_more.sql', '0044_older_code.sql');
  const ahead = ['9997_more.sql', '9998_still_more.sql'];
  expect(await migrate(rig.url)).toEqual({ applied: [], ahead });
  expect(await requireLayout(rig.url)).toEqual({ ahead });
  expect(await pendingMigrations(rig.url)).toEqual([]);
});

test('it refuses a layout with a migration that needs newer code, and names both', async () => {
  await applyNext('9997_more.sql', null);
  await applyNext('9998_less.sql', '9997_more.sql');
  const says =
    'The database has the migration 9998_less.sql, which needs a version that knows 9997_more.sql: this one is older.';
  for (const look of [migrate, requireLayout, pendingMigrations]) await expect(look(rig.url)).rejects.toThrow(says);
});

test('a database from before migrations said what they need is brought up to date', async () => {
  await rig.rows(`delete from holdfast.migrations where name = '0044_older_code.sql'`);
  await rig.rows('alter table holdfast.migrations drop column needs');
  expect(await migrate(rig.url)).toEqual({ applied: ['0044_older_code.sql'], ahead: [] });
  expect(await rig.rows('select name from holdfast.migrations where needs is not null')).toEqual([]);
});
