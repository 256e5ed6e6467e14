// A read that other decisions depend on: it is retried after transient faults, so that no request is refused because of
// one.
import type { Pool, QueryResultRow } from 'pg';
import { retryPassingFaults } from './retry-passing-faults.ts';

const RETRY_MS = 5_000;

/** The rows of a query without effects; rejects with its error when that will not pass, or has not passed in time. */
export async function readRows<Row extends QueryResultRow>(
  pool: Pool,
  query: { name: string; text: string; values?: unknown[] },
): Promise<Row[]> {
  return (await retryPassingFaults(() => pool.query<Row>(query), { retryMs: RETRY_MS })).rows;
}
