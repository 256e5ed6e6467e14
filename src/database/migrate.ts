// Brings a database to the newest layout: the SQL files of `migrations/`, in the order of their
// names, each in one transaction, under an advisory lock so that any number of processes may start
// at the same time. Forward only: a file that was applied must not change. A database that a newer
// version has migrated is refused only if one of those migrations needs newer code.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { locksOfMigration, needsOfMigration, purposeOfMigration, type MigrationLock } from './rules/migration-locks.ts';
import { viewQuery } from './literal-query.ts';

const MIGRATIONS_DIR = new URL('../../migrations/', import.meta.url);

/** Any constant will do; all processes of Holdfast use this one. */
const LOCK_KEY = 4_731_900_271;

/**
 * How long a migration waits for a table. Every other statement that needs the table waits, too, so
 * it has to be short.
 */
const LOCK_WAIT_MS = 2_000;
/** The pause in which those statements run before it tries again. */
const LOCK_PAUSE_MS = 1_000;
/** How long it tries before it gives up. */
const LOCK_TRIES_MS = 60_000;

/**
 * What ends a migration that other transactions are in the way of: `lock_not_available`, and
 * `deadlock_detected` as the victim.
 */
const LOCK_CONFLICTS: readonly unknown[] = ['55P03', '40P01'];

/** The layout of the database is not what this version of Holdfast can work with. */
class MigrationError extends Error {
  readonly code = 'migration_refused';
  constructor(message: string) {
    super(message);
    this.name = 'MigrationError';
  }
}

/** A table that a migration needs stays locked. */
class MigrationBlockedError extends Error {
  readonly code = 'migration_blocked';
  constructor(migration: string, triesMs: number) {
    super(
      `The migration ${migration} needs a table that another transaction has held for ${Math.round(triesMs / 1000)} s. Nothing of it was applied.`,
    );
    this.name = 'MigrationBlockedError';
  }
}

interface Migration {
  name: string;
  sql: string;
  sha256: string;
}

/** How a database compares with this version. */
export interface Layout {
  /** Migrations of a newer version, which this one can work with. */
  ahead: string[];
}

/**
 * Applies what is missing and returns the names of the files that were applied, in order. Throws
 * `MigrationError` when an applied file has changed, or needs newer code, and
 * `MigrationBlockedError`; driver errors pass through.
 */
export async function migrate(
  databaseUrl: string,
  { lockTriesMs = LOCK_TRIES_MS }: { lockTriesMs?: number } = {},
): Promise<Layout & { applied: string[] }> {
  const migrations = await readMigrations();
  return withClient(databaseUrl, async (client) => {
    const known = await readApplied(client);
    if (listPending(migrations, known).length === 0) return { applied: [], ahead: listAhead(migrations, known) };
    await client.query('select pg_advisory_lock($1)', [LOCK_KEY]);
    const applied = await readApplied(client);
    const pending = listPending(migrations, applied);
    for (const migration of pending) await applyWhenFree(client, migration, lockTriesMs);
    return { applied: pending.map((migration) => migration.name), ahead: listAhead(migrations, applied) };
  });
}

/** The layout of the database is older than this version needs. */
class LayoutMissingError extends Error {
  readonly code = 'layout_missing';
  constructor(missing: string[]) {
    const [first] = missing;
    super(`The database lacks ${missing.length} of the migrations that this version needs; the first is ${first}.`);
    this.name = 'LayoutMissingError';
  }
}

/**
 * Throws `LayoutMissingError` when no migration has been applied; the layout of any version passes.
 */
export async function requireAnyLayout(databaseUrl: string): Promise<void> {
  const { isEmpty, planned } = await planMigrations(databaseUrl);
  if (isEmpty) throw new LayoutMissingError(planned.map(({ name }) => name));
}

/** Throws `LayoutMissingError` when a migration has not been applied, and as `migrate` does. */
export async function requireLayout(databaseUrl: string): Promise<Layout> {
  const { pending, ahead } = await readLayout(databaseUrl);
  if (pending.length > 0) throw new LayoutMissingError(pending);
  return { ahead };
}

export const readMissingMigrations = viewQuery({
  name: 'layout',
  purpose: 'Read which of the needed migrations are missing.',
  text: 'select needed.name from unnest($1::text[]) as needed (name) except select m.name from holdfast.migrations m',
  values: (needed: string[]) => [needed],
  answer: (missing: { name: string }[]) => missing.map(({ name }) => name),
});

/**
 * Makes a check of the layout for readiness: it rejects when a migration of this version is
 * missing, because the database was replaced or its schema dropped. A newer database passes: its
 * migrations are made so that the version before works with them.
 */
export async function createLayoutCheck(pool: pg.Pool): Promise<() => Promise<void>> {
  const needed = (await readMigrations()).map(({ name }) => name);
  return async () => {
    const missing = await readMissingMigrations(pool, needed);
    if (missing.length > 0) throw new LayoutMissingError(missing.sort());
  };
}

/** The names of the files that have not been applied yet. Throws as `migrate` does. */
export async function pendingMigrations(databaseUrl: string): Promise<string[]> {
  return (await readLayout(databaseUrl)).pending;
}

async function readLayout(databaseUrl: string): Promise<Layout & { pending: string[] }> {
  return withClient(databaseUrl, async (client) => {
    const [migrations, applied] = [await readMigrations(), await readApplied(client)];
    return {
      pending: listPending(migrations, applied).map((migration) => migration.name),
      ahead: listAhead(migrations, applied),
    };
  });
}

/** A migration that is missing, with how many rows its tables have. */
export interface PlannedMigration {
  name: string;
  purpose: string;
  /** The migration that running code must know; null: every older version works on. */
  needs: string | null;
  locks: (MigrationLock & { rows: number })[];
}

/**
 * What `migrate` would apply, in order; `isEmpty` is true when nothing was applied before. Throws
 * as `migrate` does.
 */
export async function planMigrations(databaseUrl: string): Promise<{ isEmpty: boolean; planned: PlannedMigration[] }> {
  return withClient(databaseUrl, async (client) => {
    const applied = await readApplied(client);
    const pending = listPending(await readMigrations(), applied);
    const { rows } = await client.query<{ name: string; rows: number }>(
      `select c.relname as name, greatest(c.reltuples, 0)::float8 as rows from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'holdfast' and c.relkind = 'r'`,
    );
    const sizes = new Map(rows.map((row) => [row.name, row.rows]));
    const planned = pending.map(({ name, sql }) => ({
      name,
      purpose: purposeOfMigration(sql),
      needs: needsOfMigration(sql),
      locks: locksOfMigration(sql).map((lock) => ({ ...lock, rows: sizes.get(lock.table) ?? 0 })),
    }));
    return { isEmpty: applied.size === 0, planned };
  });
}

/** Calls `use` with a connection of its own, which it closes. */
async function withClient<Found>(databaseUrl: string, use: (client: pg.Client) => Promise<Found>): Promise<Found> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'holdfast:migrate' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(MIGRATIONS_DIR)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, MIGRATIONS_DIR), 'utf8');
      return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

interface AppliedMigration {
  sha256: string;
  /** What `needsOfMigration` returned; also null if the row is older than the column. */
  needs: string | null;
}

async function readApplied(client: pg.Client): Promise<Map<string, AppliedMigration>> {
  const present = await client.query("select to_regclass('holdfast.migrations') is not null as is_present");
  if (!present.rows[0].is_present) return new Map();
  const result = await client.query<AppliedMigration & { name: string }>(
    `select m.name, m.sha256, to_jsonb(m) ->> 'needs' as needs from holdfast.migrations m`,
  );
  return new Map(result.rows.map(({ name, ...applied }) => [name, applied]));
}

/** The names of those that this version does not know, in order. */
function listAhead(migrations: Migration[], applied: Map<string, AppliedMigration>): string[] {
  const names = new Set(migrations.map((migration) => migration.name));
  return [...applied.keys()].filter((name) => !names.has(name)).sort();
}

function listPending(migrations: Migration[], applied: Map<string, AppliedMigration>): Migration[] {
  const names = new Set(migrations.map((migration) => migration.name));
  for (const name of listAhead(migrations, applied)) {
    const needs = applied.get(name)?.needs ?? null;
    if (needs !== null && !names.has(needs)) {
      throw new MigrationError(
        `The database has the migration ${name}, which needs a version that knows ${needs}: this one is older. Upgrade Holdfast.`,
      );
    }
  }
  for (const { name, sha256 } of migrations) {
    const stored = applied.get(name)?.sha256;
    if (stored !== undefined && stored !== sha256) {
      throw new MigrationError(`The migration ${name} was changed after it had been applied. Restore the file.`);
    }
  }
  return migrations.filter((migration) => !applied.has(migration.name));
}

/**
 * Applies what is missing in the transaction of the client, up to the layout of these migrations,
 * or of this version. Throws `MigrationError` when this version does not know one of them.
 */
export async function layOut(client: pg.Client, { upTo }: { upTo?: readonly string[] }): Promise<void> {
  const migrations = await readMigrations();
  const unknown = upTo?.find((name) => migrations.every((migration) => migration.name !== name));
  if (unknown !== undefined)
    throw new MigrationError(
      `It has the migration ${unknown}, which this version does not know: it is newer. Upgrade Holdfast.`,
    );
  const wanted = migrations.filter(({ name }) => upTo === undefined || upTo.includes(name));
  for (const migration of listPending(wanted, await readApplied(client))) await applyIn(client, migration);
}

/**
 * Applies it, with pauses while another transaction holds a table that it needs: a backup by
 * pg_dump, a console, or a turn.
 */
async function applyWhenFree(client: pg.Client, migration: Migration, triesMs: number): Promise<void> {
  for (const end = performance.now() + triesMs; !(await tryToApply(client, migration));) {
    if (performance.now() >= end) throw new MigrationBlockedError(migration.name, triesMs);
    await delay(LOCK_PAUSE_MS);
  }
}

/**
 * False: a table that it needs was not free in time, or a deadlock with a turn that runs was ended
 * at its cost; nothing has changed.
 */
async function tryToApply(client: pg.Client, migration: Migration): Promise<boolean> {
  await client.query('begin');
  try {
    await client.query(`set local lock_timeout = ${LOCK_WAIT_MS}`);
    await applyIn(client, migration);
    await client.query('commit');
    return true;
  } catch (error) {
    await client.query('rollback');
    if (LOCK_CONFLICTS.includes((error as { code?: unknown }).code)) return false;
    throw error;
  }
}

/** Applies it in the transaction that is open. */
async function applyIn(client: pg.Client, migration: Migration): Promise<void> {
  // Asked first: to create a schema that exists demands the right to create one.
  const { rows } = await client.query<{ is_missing: boolean }>(
    `select to_regnamespace('holdfast') is null as is_missing`,
  );
  if (rows[0]?.is_missing === true) await client.query('create schema holdfast');
  await client.query(`create table if not exists holdfast.migrations (
      name text primary key, sha256 text not null, needs text, applied_at timestamptz not null default clock_timestamp())`);
  await client.query(migration.sql);
  await client.query('insert into holdfast.migrations (name, sha256) values ($1, $2)', [
    migration.name,
    migration.sha256,
  ]);
  const needs = needsOfMigration(migration.sql);
  // A database of an older version has the column since a migration that needs nothing.
  if (needs !== null)
    await client.query('update holdfast.migrations set needs = $2 where name = $1', [migration.name, needs]);
}
