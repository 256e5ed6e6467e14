// The few statements that the queue needs of PostgreSQL, shared by all queues of the process. Finished jobs leave and waiting
// jobs are taken in one statement: while it is on its way, what arrives waits and goes together in the next. BullMQ's own
// functions make a commit, two rows of events and a NOTIFY for each of these, job by job.
//
// Only plain jobs exist here (no delay, priority, parent or deduplication), so a job is a row that is inserted, marked as taken,
// and deleted.
import type pg from 'pg';
import { ADD_SQL, EXCHANGE_SQL, EXTEND_SQL, FINISH_SQL, GIVE_BACK_SQL, RECLAIM_SQL } from './postgres-statements.ts';

export interface NewJob {
  id: string;
  name: string;
  /** JSON text. */
  data: string;
}

/** A job that was taken. */
export interface TakenJob {
  queue: string;
  id: string;
  name: string;
  /** JSON text. */
  data: string;
  addedAtMs: number;
  attemptsStarted: number;
  stalledCount: number;
}

/** A finished job. */
interface FinishedJob {
  queue: string;
  id: string;
  /** The worker that took it: a job that another worker has taken over from a silent one is left unchanged. */
  token: string;
}

export interface PostgresExchange {
  /**
   * Adds jobs that do not exist yet, and wakes listening workers. The first `handOver.count` of them are added as taken
   * by `handOver.token`.
   */
  add(queue: string, jobs: NewJob[], handOver: { token: string; count: number }): Promise<void>;
  /** Takes up to `howMany()` jobs, called when the statement is built; fewer mean that there were no more when it began. */
  take(queue: string, token: string, howMany: () => number): Promise<{ jobs: TakenJob[]; asked: number }>;
  /** Deletes the job with the next statement, or soon. Not awaited: a job that stays is found stalled and does nothing. */
  finish(job: FinishedJob): void;
  /** Returns jobs unchanged and wakes listening workers. */
  giveBack(queue: string, token: string, ids: string[]): Promise<void>;
  /** Says that the taker of the jobs is alive. */
  extend(queue: string, token: string, ids: string[]): Promise<void>;
  /** Returns the jobs of silent workers to the queue, and resolves with their ids. */
  reclaim(queue: string): Promise<string[]>;
  health(): ExchangeHealth;
  /** Deletes what is finished. Rejects when that fails. */
  flush(): Promise<void>;
  /** Sends no more statements of its own. What is finished and was not flushed stays, and is found stalled. */
  close(): void;
}

interface ExchangeHealth {
  /** On the monotonic clock; null before the first success. */
  lastSuccessAtMs: number | null;
  /** The last statement failed. */
  isFailing: boolean;
}

/** How long a finished job may wait for a statement that takes it along. */
const FINISH_DELAY_MS = 100;

/** The same, after a statement that failed. */
const FINISH_RETRY_MS = 1_000;

/** Finished jobs that wait while the database is away; more are left to be found stalled. */
const FINISHED_MAX = 10_000;

interface JobRequest {
  queue: string;
  token: string;
  howMany: () => number;
  resolve: (taken: { jobs: TakenJob[]; asked: number }) => void;
  reject: (error: unknown) => void;
}

/** Makes the exchange of a process. `lockMs`: how long BullMQ believes that a silent worker is alive. */
export function createPostgresExchange(pool: pg.Pool, lockMs: number): PostgresExchange {
  let finished: FinishedJob[] = [];
  let takers: JobRequest[] = [];
  let running: Promise<void> | null = null;
  let flushTimer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let health: ExchangeHealth = { lastSuccessAtMs: null, isFailing: false };

  async function query<Row extends pg.QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    try {
      const result = await pool.query<Row>({ name: `queue-${name}`, text, values });
      health = { lastSuccessAtMs: performance.now(), isFailing: false };
      return result.rows;
    } catch (error) {
      health = { ...health, isFailing: true };
      throw error;
    }
  }

  function start(): Promise<void> {
    running ??= Promise.resolve().then(async () => {
      try {
        while (takers.length > 0) await exchange();
      } finally {
        running = null;
      }
    });
    return running;
  }

  async function exchange(): Promise<void> {
    const asking = takers.map((taker) => ({ taker, asked: Math.max(0, taker.howMany()) }));
    takers = [];
    const leaving = takeFinished();
    try {
      const rows = await query<ClaimedJobRow>('exchange', EXCHANGE_SQL, [
        ...columnsOf(leaving),
        asking.map(({ taker }) => taker.queue),
        asking.map(({ asked }) => asked),
        asking.map(({ taker }) => taker.token),
        lockMs,
      ]);
      rows.sort((one, other) => Number(one.seq) - Number(other.seq));
      for (const { taker, asked } of asking) {
        taker.resolve({ jobs: rows.filter((row) => row.token === taker.token).map(jobOf), asked });
      }
    } catch (error) {
      putBack(leaving);
      for (const { taker } of asking) taker.reject(error);
    }
  }

  function takeFinished(): FinishedJob[] {
    clearTimeout(flushTimer);
    flushTimer = undefined;
    const leaving = finished;
    finished = [];
    return leaving;
  }

  function putBack(jobs: FinishedJob[]): void {
    finished = [...jobs, ...finished].slice(-FINISHED_MAX);
    if (finished.length > 0) flushIn(FINISH_RETRY_MS);
  }

  function flushIn(ms: number): void {
    if (isClosed) return;
    // A failure loses nothing: the jobs are in the list again and leave with a later statement.
    flushTimer ??= setTimeout(() => void flush().catch(() => undefined), ms);
  }

  async function flush(): Promise<void> {
    const leaving = takeFinished();
    if (leaving.length === 0) return;
    try {
      await query('finish', FINISH_SQL, columnsOf(leaving));
    } catch (error) {
      putBack(leaving);
      throw error;
    }
  }

  return {
    async add(queue, jobs, handOver) {
      const leaving = takeFinished();
      try {
        await query('add', ADD_SQL, [
          ...columnsOf(leaving),
          queue,
          jobs.map(({ id }) => id),
          jobs.map(({ name }) => name),
          jobs.map(({ data }) => data),
          handOver.count,
          handOver.token,
          lockMs,
        ]);
      } catch (error) {
        putBack(leaving);
        throw error;
      }
    },
    take(queue, token, howMany) {
      return new Promise((resolve, reject) => {
        takers.push({ queue, token, howMany, resolve, reject });
        void start();
      });
    },
    finish(job) {
      finished.push(job);
      flushIn(FINISH_DELAY_MS);
    },
    async giveBack(queue, token, ids) {
      await query('give-back', GIVE_BACK_SQL, [queue, token, ids]);
    },
    async extend(queue, token, ids) {
      await query('extend', EXTEND_SQL, [queue, token, ids, lockMs]);
    },
    async reclaim(queue) {
      const rows = await query<{ id: string }>('reclaim', RECLAIM_SQL, [queue]);
      return rows.map(({ id }) => id);
    },
    health: () => health,
    async flush() {
      await running;
      await flush();
    },
    close() {
      isClosed = true;
      clearTimeout(flushTimer);
    },
  };
}

interface ClaimedJobRow {
  queue: string;
  id: string;
  seq: string;
  name: string;
  data: string;
  added_at_ms: string;
  attempts_started: number;
  stalled_count: number;
  token: string;
}

function columnsOf(jobs: FinishedJob[]): unknown[] {
  return [jobs.map(({ queue }) => queue), jobs.map(({ id }) => id), jobs.map(({ token }) => token)];
}

function jobOf(row: ClaimedJobRow): TakenJob {
  const { queue, id, name, data } = row;
  return {
    queue,
    id,
    name,
    data,
    addedAtMs: Number(row.added_at_ms),
    attemptsStarted: row.attempts_started,
    stalledCount: row.stalled_count,
  };
}
