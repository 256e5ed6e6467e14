// Sends a statement that reads whole tables, which the deadline of all other statements would end.
import type { Pool, QueryConfig } from 'pg';
import type { PreparedQuery } from './statement.ts';

/** Resolves with the number of rows that it answered or changed. Not sent again after a fault; the caller tries it again later. */
export async function sendLongQuery(pool: Pool, query: PreparedQuery, timeoutMs: number): Promise<number> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(`set local statement_timeout = ${timeoutMs}`);
    const patient: QueryConfig & { query_timeout: number } = { ...query, query_timeout: timeoutMs };
    const { rowCount } = await client.query(patient);
    await client.query('commit');
    client.release();
    return rowCount ?? 0;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
