// Brings BullMQ's schema in the database to the version of the installed BullMQ. The queue holds no
// facts, so a schema that cannot be migrated is not repaired but created again.
import {
  assertSchemaCompatibility,
  LATEST_SCHEMA_VERSION,
  MIGRATION_ADVISORY_LOCK_KEY,
  runMigrations,
  SchemaMigrationRequiredError,
} from 'bullmq';
import pg from 'pg';

/** Where BullMQ's tables live. Its functions are bound to this name when they are created. */
const SCHEMA = 'bullmq';

/**
 * Creates or upgrades the schema; false when it was there already. Any number of processes may do
 * so at the same time.
 */
export async function migrateQueue(databaseUrl: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'holdfast:queue:migrate' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const isCurrent = (await readVersion(client)) >= LATEST_SCHEMA_VERSION;
    if (isCurrent && (await isSilent(client))) return false;
    // BullMQ's own lock, held until the connection ends: the schema is dropped and created by one
    // process at a time.
    await client.query('select pg_advisory_lock($1, hashtext($2))', [MIGRATION_ADVISORY_LOCK_KEY, SCHEMA]);
    if (!isCurrent) await migrateOrReplace(client);
    if (!(await isSilent(client))) await client.query(SILENCE).catch(ignoreRefusal);
    return !isCurrent;
  } finally {
    await client.end();
  }
}

/** The version in BullMQ's ledger; 0 without one. */
async function readVersion(client: pg.Client): Promise<number> {
  try {
    return await assertSchemaCompatibility(client, SCHEMA);
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return 0;
    throw error;
  }
}

/**
 * Tables without a ledger: all tables were emptied, the ledger too. BullMQ creates them again, and
 * fails at the first.
 */
async function migrateOrReplace(client: pg.Client): Promise<void> {
  try {
    await runMigrations(client, SCHEMA);
  } catch (error) {
    if (!isOfExisting(error)) throw error;
    await client.query(`drop schema ${SCHEMA} cascade`);
    await runMigrations(client, SCHEMA);
  }
}

/**
 * BullMQ stores three to five events for each job and notifies of each, in one function, which no
 * option leaves out. Holdfast does not read them, and they are a quarter of what the queue costs
 * PostgreSQL. So the function is replaced by one that does nothing. Nothing else of BullMQ is
 * changed, and its own function, from another version of it, works as well.
 */
const SILENCE = `create or replace function ${SCHEMA}.publish_event(p_queue text, p_event text, p_data jsonb) returns bigint
language sql as $$ select 0::bigint /* no events */ $$`;

async function isSilent(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ silent: boolean }>(
    `select prosrc like '%no events%' as silent from pg_proc where oid = to_regprocedure('${SCHEMA}.publish_event(text, text, jsonb)')`,
  );
  // Without such a function there is nothing to replace.
  return rows[0]?.silent ?? true;
}

/** Another user owns the function, or a later BullMQ has another one: its own works as well. */
function ignoreRefusal(error: unknown): void {
  if (!['42501', '42P13'].includes((error as { code?: string }).code ?? '')) throw error;
}

/** True when a table, type or function exists already. */
function isOfExisting(error: unknown): boolean {
  return ['42P07', '42710', '42723'].includes((error as { code?: string }).code ?? '');
}
