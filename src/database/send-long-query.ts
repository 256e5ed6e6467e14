// Sends a statement that reads whole tables, which the deadline of all other statements would end.
import type { Pool, QueryConfig } from 'pg';
import { sendTransaction } from './send-in-order.ts';
import type { PreparedQuery } from './statement.ts';

/** Resolves with the number of rows that it answered or changed. Not sent again after a fault; the caller tries it again later. */
export function sendLongQuery(pool: Pool, query: PreparedQuery, timeoutMs: number): Promise<number> {
  const patient: QueryConfig & { query_timeout: number } = { ...query, query_timeout: timeoutMs };
  const send = async (client: Pick<Pool, 'query'>): Promise<number> => {
    await client.query(`set local statement_timeout = ${timeoutMs}`);
    return (await client.query(patient)).rowCount ?? 0;
  };
  return sendTransaction(pool, send, 0);
}
