// Brings BullMQ's schema in the database to the version of the installed BullMQ, under BullMQ's own advisory lock. The queue
// holds no facts, so a schema that cannot be migrated is not repaired but created again.
import { LATEST_SCHEMA_VERSION, MIGRATION_ADVISORY_LOCK_KEY, runMigrations } from 'bullmq';
import pg from 'pg';

/** Where BullMQ's tables live. Its functions are bound to this name when they are created. */
const SCHEMA = 'bullmq';

/** Creates or upgrades the schema; returns whether anything was done. Any number of processes may do so at the same time. */
export async function migrateQueue(databaseUrl: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'holdfast:queue:migrate' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { version, isTuned } = await readState(client);
    if (version >= LATEST_SCHEMA_VERSION && isTuned) return false;
    await underLock(client, dropWithoutLedger);
    await runMigrations(client, SCHEMA);
    await underLock(client, tune);
    return true;
  } finally {
    await client.end();
  }
}

interface SchemaState {
  /** In BullMQ's ledger; 0 without one. */
  version: number;
  hasTables: boolean;
  isTuned: boolean;
}

async function readState(client: pg.Client): Promise<SchemaState> {
  const found = await client.query(`select to_regclass('${SCHEMA}.migration') is not null as has_ledger,
    to_regclass('${SCHEMA}.job') is not null as has_tables,
    exists (select from pg_class where oid = to_regclass('${SCHEMA}.job') and reloptions is not null) as is_tuned`);
  const { has_ledger: hasLedger, has_tables: hasTables, is_tuned: isTuned } = found.rows[0];
  if (!hasLedger) return { version: 0, hasTables, isTuned };
  const ledger = await client.query(`select coalesce(max(version), 0) as version from ${SCHEMA}.migration`);
  return { version: Number(ledger.rows[0].version), hasTables, isTuned };
}

/** Runs the work in a transaction that holds BullMQ's migration lock. */
async function underLock(client: pg.Client, work: (client: pg.Client) => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock($1, hashtext($2))', [MIGRATION_ADVISORY_LOCK_KEY, SCHEMA]);
    await work(client);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/**
 * Tables without a ledger: all tables of the schema were emptied, the ledger too. BullMQ would create the tables again and
 * fail at the first, at this start and at every later one.
 */
async function dropWithoutLedger(client: pg.Client): Promise<void> {
  const { version, hasTables } = await readState(client);
  if (hasTables && version === 0) await client.query(`drop schema ${SCHEMA} cascade`);
}

/**
 * Each job is inserted, updated and deleted within moments, so the table is almost empty and made of dead rows: room for
 * updates in the page, and vacuum by count rather than by share.
 */
async function tune(client: pg.Client): Promise<void> {
  await client.query(`alter table ${SCHEMA}.job
    set (fillfactor = 60, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.05)`);
}
