// A read that other decisions depend on: it is retried after transient faults, so that no request is refused because of
// one.
import type { Pool, QueryResultRow } from 'pg';
import { REQUEST_RETRY_MS, retryPassingFaults } from './retry-passing-faults.ts';

/** The rows of a query without effects; rejects with its error when that will not pass, or has not passed in time. */
export async function readRows<Row extends QueryResultRow>(
  pool: Pool,
  query: { name: string; text: string; values?: unknown[] },
): Promise<Row[]> {
  return (await retryPassingFaults(() => pool.query<Row>(query), REQUEST_RETRY_MS)).rows;
}
