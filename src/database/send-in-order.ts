// Several statements in one transaction, each sent after the answer of the one before. `inPipeline` (transaction.ts) saves those round trips
// where a turn waits for them.
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { withCode } from './connection-faults.ts';
import { isPassingFault } from './database.ts';
import { REQUEST_RETRY_MS, retryPassingFaults } from './retry-passing-faults.ts';
import type { PreparedQuery } from './statement.ts';
import { BEGIN } from './transaction.ts';

/** Does work in a transaction, which is undone when it throws; again after faults that pass, so only what is safe to do again. */
export function sendTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
  retryMs = REQUEST_RETRY_MS,
): Promise<Result> {
  const attempt = async (): Promise<Result> => {
    const client = await pool.connect();
    let isBroken = true;
    try {
      await client.query(BEGIN);
      const result = await work(client);
      await client.query('commit');
      isBroken = false;
      return result;
    } catch (error) {
      if (!isPassingFault(withCode(error))) isBroken = (await client.query('rollback').catch(() => null)) === null;
      throw error;
    } finally {
      // The server undoes what a closed connection has left open.
      client.release(isBroken);
    }
  };
  const attemptWithCodes = (): Promise<Result> =>
    attempt().catch((error: unknown) => {
      throw withCode(error);
    });
  return retryPassingFaults(attemptWithCodes, retryMs);
}

/** The rows of the last one, which sees what was written before the first acquired its locks. Sent again after faults that pass, so only for statements that are safe to send again. */
export function sendInOrder<Row extends QueryResultRow>(
  pool: Pool,
  first: PreparedQuery,
  last: PreparedQuery,
): Promise<Row[]> {
  return sendTransaction(pool, async (client) => {
    await client.query(first);
    return (await client.query<Row>(last)).rows;
  });
}
