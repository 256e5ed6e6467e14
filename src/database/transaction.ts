// A transaction: lock the owner's rows first, then all sessions in one statement in the order of
// their ids, then what belongs to a session; read what was locked, decide in a pure function, and
// write. Not for what a turn writes at each step (docs/decisions/0003), and never across a call of
// a model or a tool (G9).
//
// Its statements are sent without waiting for the answers to those before (pipelining), so what
// needs no answer costs no round trip. Between the lock and the commit a transaction waits for one
// answer as a rule: sessions that it holds cannot be written by the statements of turns, which
// carry many turns each.
import type { Pool, PoolClient, QueryResult } from 'pg';
import { withCode, REQUEST_RETRY_MS, retryPassingFaults, isPassingFault } from './passing-faults.ts';
import type { LimitedPool } from './database.ts';
import { openRows, unwrapFault, type Rows } from './drizzle.ts';
import type { PreparedQuery } from './statement.ts';

export interface Transaction {
  /**
   * Its rows, or what `read` makes of them. The transaction fails if it fails, whether its answer
   * is awaited or not.
   */
  query<Row extends object, Answer = Row[]>(query: PreparedQuery, read?: (rows: Row[]) => Answer): Promise<Answer>;
  /** Sends a write whose answer nothing needs. */
  write(query: PreparedQuery): void;
  /** Rows of the tables of `src/rows/`, by drizzle. */
  rows: Rows;
}

/**
 * The result; or a function that makes it from answers which arrive with that of the commit, so
 * that the locks are not held for them.
 */
export type Committing<Result> = Result | (() => Promise<Result>);

/**
 * How long a transaction waits for its turn before it fails because the database is busy, as for a
 * connection, in milliseconds.
 */
const TURN_MS = 5_000;

/** How long a process that stops between two statements keeps its locks, in milliseconds. */
const IDLE_MS = 500;

interface TransactionOptions {
  /** How long it is made again after faults that pass. */
  retryMs?: number;
  /**
   * True: it is the step of a turn, whose answer is paid for, and begins without waiting for its
   * turn.
   */
  isStep?: boolean;
}

/**
 * Runs it in a transaction, which is undone when it throws; again after faults that pass. One that
 * failed may have been committed, so `run` is safe to repeat: its ids are made outside, and it
 * changes nothing but through `tx`.
 */
export function transaction<Result>(
  pool: LimitedPool,
  run: (tx: Transaction) => Promise<Committing<Result>>,
  { retryMs = REQUEST_RETRY_MS, isStep = false }: TransactionOptions = {},
): Promise<Result> {
  const once = () => attempt(pool, run);
  const turns = isStep ? undefined : pool.transactions;
  return retryPassingFaults(() => turns?.run(once, AbortSignal.timeout(TURN_MS)).catch(asBusy) ?? once(), retryMs);
}

async function attempt<Result>(pool: Pool, run: (tx: Transaction) => Promise<Committing<Result>>): Promise<Result> {
  const client: PoolClient & { pipeline?: boolean } = await pool.connect().catch((error: unknown) => {
    throw withCode(error);
  });
  const sent: Promise<unknown>[] = [];
  // What follows a fault only says that the transaction has failed.
  let first: { fault: unknown } | undefined;
  const send = <Row extends object>(query: PreparedQuery | string): Promise<QueryResult<Row>> => {
    const answer = client.query<Row & Record<string, unknown>>(query);
    answer.catch((fault: unknown) => (first ??= { fault }));
    sent.push(answer);
    return answer;
  };
  try {
    client.pipeline = true;
    void send(`begin; set local idle_in_transaction_session_timeout = ${IDLE_MS}`);
    const answer = await run({
      query: <Row extends object, Answer>(query: PreparedQuery, read?: (rows: Row[]) => Answer) => {
        // Without `read`, the answer is the rows.
        const made = send<Row>(query).then(({ rows }) => (read === undefined ? (rows as Answer) : read(rows)));
        made.catch(() => undefined);
        return made;
      },
      write: (query) => void send(query),
      rows: openRows(client),
    });
    void send('commit');
    const [result] = await Promise.all([isFunction(answer) ? answer() : answer, ...sent]);
    client.pipeline = false;
    client.release();
    return result;
  } catch (error) {
    const fault = withCode(unwrapFault(first === undefined ? error : first.fault));
    // The server undoes what a closed connection has left open.
    const isOpen = !isPassingFault(fault) && (await client.query('rollback').catch(() => null)) !== null;
    client.pipeline = false;
    client.release(!isOpen);
    throw fault;
  }
}

function asBusy(error: unknown): never {
  if (!(error instanceof DOMException && error.name === 'TimeoutError')) throw error;
  throw Object.assign(new Error('No transaction ended in time for another one to begin.'), { code: 'connect_timeout' });
}

function isFunction<Result>(answer: Committing<Result>): answer is () => Promise<Result> {
  return typeof answer === 'function';
}
