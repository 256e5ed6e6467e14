// Sends statements one after the other in one transaction, for a statement that must see what was written before it got a lock.
import type { Pool, QueryResultRow } from 'pg';
import { REQUEST_RETRY_MS, retryPassingFaults } from './retry-passing-faults.ts';
import type { PreparedQuery } from './statement.ts';

/** The rows of the last one. Sent again after faults that pass, so only for statements that are safe to send again. */
export function sendInOrder<Row extends QueryResultRow>(
  pool: Pool,
  first: PreparedQuery,
  last: PreparedQuery,
): Promise<Row[]> {
  return retryPassingFaults(async () => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      await client.query(first);
      const { rows } = await client.query<Row>(last);
      await client.query('commit');
      client.release();
      return rows;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }, REQUEST_RETRY_MS);
}
