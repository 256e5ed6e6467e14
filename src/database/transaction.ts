// An ordinary transaction: lock the sessions first, then read, decide in a pure function, and write. Not for what a turn writes at each step
// (docs/decisions/0003), and never across a call of a model or a tool (G9).
//
// Its statements are sent without waiting for the answers to those before (pipelining), so what needs no answer costs no round trip. Where
// that does not matter, `sendTransaction` (send-in-order.ts) is simpler.
import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg';
import { withCode } from './connection-faults.ts';
import { retryPassingFaults } from './retry-passing-faults.ts';
import type { PreparedQuery } from './statement.ts';

export interface Transaction {
  query<Row extends QueryResultRow>(query: PreparedQuery): Promise<Row[]>;
  /** Sends a write whose answer nothing needs. The transaction fails if it fails. */
  write(query: PreparedQuery): void;
}

/** What a transaction results in. The answer of its last statement arrives with that of its commit. */
interface LastAnswer<Result> {
  last: Promise<Result>;
}

/** A process that is stopped in the middle loses its locks after this long. */
export const BEGIN = "begin; set local idle_in_transaction_session_timeout = '3s'";

/** Runs it, again after faults that pass: only for what is safe to do again, because one that failed may have been committed. */
export function inPipeline<Result>(
  pool: Pool,
  retryMs: number,
  run: (tx: Transaction) => LastAnswer<Result> | Promise<LastAnswer<Result>>,
): Promise<Result> {
  return retryPassingFaults(async () => {
    const client: Omit<PoolClient, 'pipeline'> & { pipeline: boolean } = await pool.connect();
    const sent: Promise<unknown>[] = [];
    // What follows a fault only says that the transaction has failed.
    let first: { fault: unknown } | undefined;
    const send = <Row extends QueryResultRow>(query: PreparedQuery | string): Promise<QueryResult<Row>> => {
      const answer = client.query<Row>(query);
      answer.catch((fault: unknown) => (first ??= { fault }));
      sent.push(answer);
      return answer;
    };
    try {
      client.pipeline = true;
      void send(BEGIN);
      const { last } = await run({
        query: (query) => {
          const rows = send<never>(query).then((answer) => answer.rows);
          rows.catch(() => undefined);
          return rows;
        },
        write: (query) => void send(query),
      });
      void send('commit');
      const [result] = await Promise.all([last, ...sent]);
      client.pipeline = false;
      client.release();
      return result;
    } catch (error) {
      // The server undoes what was not committed.
      client.release(true);
      throw withCode(first === undefined ? error : first.fault);
    }
  }, retryMs);
}
