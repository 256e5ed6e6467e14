// Lets many callers share one statement (`src/coalesce/one-in-flight.ts`). A statement that fails for a passing reason (a restart, a
// broken connection, a deadlock) is sent again unchanged, so a shared statement is always one that is safe to send again.
import { oneInFlight } from '../coalesce/one-in-flight.ts';
import { isPassingFault } from './database.ts';
import { retryPassingFaults, TURN_RETRY_MS } from './retry-passing-faults.ts';

/** Submits a row and resolves with its result; rejects when its statement failed permanently. */
export type RowSubmitter<Row, Result> = (row: Row) => Promise<Result>;

/**
 * Statements join their rows in nested loops, so their time grows faster than their rows: beyond this, two statements are quicker than
 * one.
 */
const ROWS_MAX = 32;

/** A statement is written in one piece: a million characters take about 20 ms, in which the process does nothing else. */
const CHARS_MAX = 1_000_000;

/** More rows than requests and turns of one process can submit at a time. */
const WAITING_MAX = 20_000;

/**
 * Makes a function that shares statements among its callers. `run` sends one statement and returns one result per row, in the same order.
 * `charsOf` is for rows that may be long; absent: they are not.
 */
export function shareStatement<Row, Result>(
  name: string,
  run: (rows: Row[]) => Promise<Result[]>,
  charsOf?: (row: Row) => number,
): RowSubmitter<Row, Result> {
  const { submit } = oneInFlight({
    name: `rows of the statement ${name}`,
    run: (rows: Row[]) => retryPassingFaults(() => run(rows), TURN_RETRY_MS),
    rowsMax: ROWS_MAX,
    ...(charsOf === undefined ? {} : { length: { of: charsOf, max: CHARS_MAX } }),
    waitingMax: WAITING_MAX,
    isShared: isPassingFault,
  });
  return submit;
}
