// Lets many callers share one statement. While a statement is in flight, new rows wait and are sent together in the next;
// when none is in flight, nothing waits. A statement that fails for a transient reason (a restart, a broken connection, a
// deadlock) is sent again unchanged: every statement given to a coalescer is idempotent.
import { isPassingFault } from './database.ts';
import { retryPassingFaults } from './retry-passing-faults.ts';

export interface CoalescerOptions<Row, Result> {
  /** Runs one statement for all rows and returns one result per row, in the same order. */
  run: (rows: Row[]) => Promise<Result[]>;
  /** The most rows in one statement; absent: 32. */
  rowsMax?: number;
  /** How long passing faults are tried again, in milliseconds; then the callers get the error. */
  retryMs?: number;
  /** Called before each retry. */
  onRetry?: (error: Error) => void;
}

/** Submits a row and resolves with its result; rejects when its statement failed permanently. */
export type RowSubmitter<Row, Result> = (row: Row) => Promise<Result>;

/**
 * Statements join what they are given in nested loops, so their time grows faster than their rows: beyond this, two statements are
 * quicker than one.
 */
const ROWS_MAX = 32;

interface QueuedRow<Row, Result> {
  row: Row;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Makes a function that shares statements among its callers. */
export function coalesce<Row, Result>(options: CoalescerOptions<Row, Result>): RowSubmitter<Row, Result> {
  const { rowsMax = ROWS_MAX, retryMs = 10_000 } = options;
  let waiting: QueuedRow<Row, Result>[] = [];
  let isRunning = false;

  async function work(): Promise<void> {
    isRunning = true;
    // Callers that submit in the same tick of the event loop travel together from the first statement on.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting.slice(0, rowsMax);
      waiting = waiting.slice(rowsMax);
      await settle(batch);
    }
    isRunning = false;
  }

  async function settle(batch: QueuedRow<Row, Result>[]): Promise<void> {
    try {
      const rows = batch.map((one) => one.row);
      const results = await retryPassingFaults(() => options.run(rows), { retryMs, onRetry: options.onRetry });
      batch.forEach((one, index) => one.resolve(results[index] as Result));
    } catch (error) {
      // One bad row must not fail the others: each is tried by itself, once.
      if (batch.length > 1 && !isPassingFault(error)) {
        for (const one of batch) await settle([one]);
      } else {
        batch.forEach((one) => one.reject(error));
      }
    }
  }

  return (row) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ row, resolve, reject });
      if (!isRunning) void work();
    });
}
