// A database that a newer version has migrated: which older versions can work with it (G26).
import pg from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { migrate, pendingMigrations, requireLayout } from '../../src/database/migrate.ts';
import { readDoorbells, removeDoorbells } from '../rows/doorbells.ts';
import { changeSessions, readSessions } from '../rows/sessions.ts';
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

test('this version starts on a layout with later migrations that only add, and names them', async () => {
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
  for (const observer of [migrate, requireLayout, pendingMigrations])
    await expect(observer(rig.url)).rejects.toThrow(says);
});

test('a database whose migrations do not state their requirements yet is brought up to date', async () => {
  await rig.rows(`delete from holdfast.migrations where name = '0044_older_code.sql'`);
  await rig.rows('alter table holdfast.migrations drop column needs');
  expect(await migrate(rig.url)).toEqual({ applied: ['0044_older_code.sql'], ahead: [] });
  expect(await rig.rows('select name from holdfast.migrations where needs is not null')).toEqual([]);
});

test('a session whose count of waiting messages is wrong is counted again, and rung for (G4)', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  await changeSessions(rig, { id: sessionId }, { waiting: -1 });
  await removeDoorbells(rig);
  await rig.rows(`delete from holdfast.migrations where name = '0104_recount_waiting.sql'`);
  expect(await migrate(rig.url)).toEqual({ applied: ['0104_recount_waiting.sql'], ahead: [] });
  expect(await readSessions(rig, { id: sessionId }, 'waiting')).toEqual([{ waiting: 1 }]);
  expect(await readDoorbells(rig, { sessionId }, 'lane')).toEqual([{ lane: 'main' }]);
});

/**
 * Takes back a migration that alters a table, and holds that table as a pg_dump would. Resolves
 * with the end of the hold.
 */
async function holdTableOfPending(): Promise<() => Promise<void>> {
  await rig.rows(`delete from holdfast.migrations where name = '0044_older_code.sql'`);
  const reader = new pg.Client({ connectionString: rig.url });
  await reader.connect();
  const end = () => reader.end();
  onTestFinished(end);
  await reader.query('begin');
  await reader.query('select from holdfast.migrations');
  return end;
}

test('a migration that waits for a table lets other statements pass, and is applied when the table is free', async () => {
  const free = await holdTableOfPending();
  const migrated = migrate(rig.url);
  const waits = `select 1 as one from pg_locks where not granted and relation = 'holdfast.migrations'::regclass`;
  await expect.poll(() => rig.rows(waits)).toHaveLength(1);
  // It would wait as long as the reader does.
  expect(await rig.rows('select 1 as one from holdfast.migrations limit 1')).toHaveLength(1);
  await free();
  expect(await migrated).toEqual({ applied: ['0044_older_code.sql'], ahead: [] });
});

test('a migration gives up when a table stays locked, names itself, and has changed nothing', async () => {
  const free = await holdTableOfPending();
  await expect(migrate(rig.url, { lockTriesMs: 0 })).rejects.toThrow(
    'The migration 0044_older_code.sql needs a table that another transaction has held',
  );
  await free();
  expect(await pendingMigrations(rig.url)).toEqual(['0044_older_code.sql']);
});

test('a migration that a deadlock with a running transaction ends is applied in the end, and so is the transaction', async () => {
  await rig.rows(`delete from holdfast.migrations where name = '0044_older_code.sql'`);
  // The migration adds a row to `migrations` after it has altered the table, so a trigger can make
  // it ask for a second table.
  await rig.rows(`create function wait_then_lock() returns trigger language plpgsql as $$ begin
      while not exists (select from pg_locks where not granted and relation = 'holdfast.migrations'::regclass) loop
        perform pg_sleep(0.01);
      end loop;
      lock table holdfast.sessions;
      return new;
    end $$`);
  await rig.rows(
    'create trigger wait_then_lock before insert on holdfast.migrations for each row execute function wait_then_lock()',
  );
  const other = new pg.Client({ connectionString: rig.url });
  await other.connect();
  onTestFinished(() => other.end());
  // The victim is the first that looks for a deadlock: the migration.
  await other.query(`set deadlock_timeout = '10min'`);
  await other.query('begin');
  await other.query('lock table holdfast.sessions');
  const deadlocks = `select deadlocks::int from pg_stat_database where datname = current_database()`;

  const migrated = migrate(rig.url);
  const altered = `select 1 as one from pg_locks where granted and mode = 'AccessExclusiveLock' and relation = 'holdfast.migrations'::regclass`;
  await expect.poll(() => rig.rows(altered)).toHaveLength(1);
  await other.query('select from holdfast.migrations');
  await other.query('drop trigger wait_then_lock on holdfast.migrations');
  await other.query('commit');
  await other.end();

  expect(await migrated).toEqual({ applied: ['0044_older_code.sql'], ahead: [] });
  expect(await rig.rows(deadlocks)).not.toEqual([{ deadlocks: 0 }]);
});
