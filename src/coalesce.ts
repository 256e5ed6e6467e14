// Lets callers that want the same answer share it, but never an answer whose work began before they
// called: what a caller knows to have happened is in its answer. For callers that each bring a row
// of their own, see `oneInFlight` below.
import { withDeadline } from './clock.ts';

/**
 * The run in flight, and the one that the callers since then share; it begins when that one has
 * ended.
 */
interface Line<Value> {
  running: Promise<Value> | null;
  next: Promise<Value> | null;
}

/**
 * Makes `run` run once at a time per key. Callers that come while it runs share the next run, which
 * gets the input of the first of them; so do callers of the same tick of the event loop. A failed
 * run rejects its own callers alone. Absent `keyOf`: one key.
 */
export function shareNext<Value, Input = void>(
  run: (input: Input) => Promise<Value>,
  keyOf: (input: Input) => string = () => '',
): (input: Input) => Promise<Value> {
  // Only keys that are in use.
  const lines = new Map<string, Line<Value>>();

  async function runAfter(
    running: Promise<Value> | null,
    line: Line<Value>,
    key: string,
    input: Input,
  ): Promise<Value> {
    await Promise.allSettled([running]);
    line.running = line.next;
    line.next = null;
    try {
      return await run(input);
    } finally {
      if (line.next === null) lines.delete(key);
    }
  }

  return (input) => {
    const key = keyOf(input);
    const line = lines.get(key) ?? { running: null, next: null };
    lines.set(key, line);
    return (line.next ??= runAfter(line.running, line, key, input));
  };
}

// Batches the rows of many callers. While one batch is in flight, new rows wait and are sent
// together in the next; when none is in flight, nothing waits. Every row is settled exactly once,
// in a batch that began after the row was submitted.
//
// A batch that fails is not sent again as a whole: a retry, where one is safe, is part of `run`.
// See also `shareNext`, for callers that all want the same answer.

export interface BatchOptions<Row, Result> {
  /** The rows and their destination, for the texts of errors: `jobs for the queue main`. */
  name: string;
  /**
   * Sends one batch and returns one result per row, in the same order. A row that is at fault makes
   * it reject; the other rows are then sent once more, so what it did before it rejected must be
   * undone or harmless.
   */
  run: (rows: Row[]) => Promise<Result[]>;
  /** The most rows in one batch. */
  rowsMax: number;
  /**
   * The length of a row, and the most of all rows of one batch unless its only row is longer:
   * writing a batch must not take long. Absent: no bound.
   */
  length?: { of: (row: Row) => number; max: number };
  /** The most rows that wait while a batch is in flight; the rows over it are rejected. */
  waitingMax: number;
  /**
   * How long `run` may take, in milliseconds; then its rows are rejected and the next batch is
   * sent. Its work is not stopped. Absent: `run` has time limits of its own.
   */
  timeoutMs?: number;
  /**
   * True for an error that no single row has caused, for example that the server is away: all rows
   * of the batch are rejected with it. After any other error each row of the batch is sent alone,
   * once, so that only the row at fault is rejected.
   */
  isShared: (error: unknown) => boolean;
}

export interface OneInFlight<Row, Result> {
  /**
   * Resolves with the result of the row. Rejects with the error of `run`, or with a `BatchError`.
   */
  submit: (row: Row) => Promise<Result>;
  /** Refuses later rows, and resolves when the waiting ones are settled. */
  close: () => Promise<void>;
}

/** A row that was refused or given up by the batcher itself. */
class BatchError extends Error {
  readonly code: 'batch_full' | 'batch_timeout' | 'batch_closed' | 'batch_results';

  constructor(code: BatchError['code'], message: string) {
    super(message);
    this.name = 'BatchError';
    this.code = code;
  }
}

interface WaitingRow<Row, Result> {
  row: Row;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Makes a batcher. */
export function oneInFlight<Row, Result>(options: BatchOptions<Row, Result>): OneInFlight<Row, Result> {
  const { name, rowsMax, waitingMax, length } = options;
  const waiting: WaitingRow<Row, Result>[] = [];
  let sending: Promise<void> | null = null;
  let isClosed = false;

  async function sendAll(): Promise<void> {
    // Callers that submit in the same tick of the event loop share the first batch.
    await Promise.resolve();
    while (waiting.length > 0) await settle(waiting.splice(0, rowsOfNext()));
    sending = null;
  }

  function rowsOfNext(): number {
    if (length === undefined || waiting.length === 1) return rowsMax;
    let total = 0;
    const over = waiting.slice(0, rowsMax).findIndex(({ row }) => (total += length.of(row)) > length.max);
    return over < 0 ? rowsMax : Math.max(1, over);
  }

  async function settle(batch: WaitingRow<Row, Result>[]): Promise<void> {
    try {
      const results = await collectResults(
        batch.map(({ row }) => row),
        options,
      );
      // There is one result per row.
      batch.forEach((one, index) => one.resolve(results[index] as Result));
    } catch (error) {
      const isForAll = batch.length === 1 || error instanceof BatchError || options.isShared(error);
      if (isForAll) for (const one of batch) one.reject(error);
      else for (const one of batch) await settle([one]);
    }
  }

  return {
    submit(row) {
      if (isClosed)
        return Promise.reject(new BatchError('batch_closed', `No more ${name} are sent: the process is ending.`));
      if (waiting.length >= waitingMax) {
        const problem = `${waitingMax} ${name} wait already, and no more may wait. Try again later.`;
        return Promise.reject(new BatchError('batch_full', problem));
      }
      return new Promise<Result>((resolve, reject) => {
        waiting.push({ row, resolve, reject });
        sending ??= sendAll();
      });
    },
    async close() {
      isClosed = true;
      await sending;
    },
  };
}

async function collectResults<Row, Result>(rows: Row[], options: BatchOptions<Row, Result>): Promise<Result[]> {
  const { name, run, timeoutMs } = options;
  const late = (): Error => new BatchError('batch_timeout', `The ${name} were not sent within ${timeoutMs} ms.`);
  const results = await (timeoutMs === undefined ? run(rows) : withDeadline({ ms: timeoutMs, late }, () => run(rows)));
  if (results.length === rows.length) return results;
  const counts = `${results.length} results came back for ${rows.length} ${name}`;
  throw new BatchError('batch_results', `${counts}, and one for each was expected.`);
}

// Lets callers share an answer for a time, for figures that many ask for again and again and that
// may be a little old. For answers that must not be older than the call, see `shareNext`.

/** What callers share, until it is too old. */
interface SharedAnswer<Value> {
  at: number;
  value: Promise<Value>;
}

/**
 * Makes `run` run at most once per `ms` milliseconds. A failed run is shared by the callers that
 * waited for it, and not kept.
 */
export function shareFor<Value>(ms: number, run: () => Promise<Value>, nowMs: () => number): () => Promise<Value> {
  let kept: SharedAnswer<Value> | null = null;
  let running: Promise<Value> | null = null;

  async function runNow(): Promise<Value> {
    try {
      return await run();
    } catch (error) {
      kept = null;
      throw error;
    } finally {
      running = null;
    }
  }

  return () => {
    if (running !== null) return running;
    if (kept !== null && nowMs() - kept.at < ms) return kept.value;
    running = runNow();
    kept = { at: nowMs(), value: running };
    return running;
  };
}
