// Sends a statement, again after faults that pass: only for one that is safe to send again. So no request is refused and no turn is
// broken off because of one fault.
import type { Pool, QueryResultRow } from 'pg';
import { REQUEST_RETRY_MS, retryPassingFaults } from './retry-passing-faults.ts';
import type { PreparedQuery } from './statement.ts';

/** The rows of the answer; rejects with the error when that will not pass, or has not passed in time. */
export async function sendQuery<Row extends QueryResultRow>(
  pool: Pool,
  query: PreparedQuery,
  retryMs = REQUEST_RETRY_MS,
): Promise<Row[]> {
  return (await retryPassingFaults(() => pool.query<Row>(query), retryMs)).rows;
}
