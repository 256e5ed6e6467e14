// Empties the queue in PostgreSQL while its workers run.
import pg from 'pg';
import { waitUntil } from '../crash/rig/wait-until.ts';

const emptiedWithinMs = 60_000;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Deletes everything that BullMQ keeps but its list of migrations. BullMQ's functions lock the
 * tables in other orders, so this never waits for a table while it holds another one: it takes all
 * of them at once, or none and tries again. A deadlock could end a statement of a worker.
 */
export async function emptyQueue(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ names: string | null }>(
      `select string_agg(format('%I.%I', schemaname, tablename), ', ' order by tablename) as names
       from pg_tables where schemaname = 'bullmq' and tablename <> 'migration'`,
    );
    const names = rows[0]?.names;
    if (names == null) throw new Error('The database has no tables of BullMQ.');
    // Statements of one string are one transaction.
    const sql = `lock table ${names} in access exclusive mode nowait; truncate ${names}`;
    await waitUntil('the tables of the queue are empty', emptiedWithinMs, () => succeeds(client, sql));
  } finally {
    await client.end();
  }
}

/** False if another transaction holds a lock. */
async function succeeds(client: pg.Client, sql: string): Promise<boolean> {
  try {
    await client.query(sql);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
    return false;
  }
}
