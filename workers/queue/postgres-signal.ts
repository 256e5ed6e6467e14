// Listens for PostgreSQL's notifications that a queue has new jobs. One LISTEN connection serves every queue of the process;
// BullMQ's own backend uses one for each worker and polls the tables.
//
//   what must stay true: a consumer may sleep only after it found its queue empty in a statement that began after the last
//   notification it received. Hence notifications are counted, and the count is read before the statement is sent.
//
// A notification can be lost with its connection. So each connect counts as a notification for every queue, and a slow poll on
// the same connection finds jobs whose notification was lost; the poll also shows that the consuming path is alive.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

export interface PostgresSignalOptions {
  databaseUrl: string;
  /** Called once when hearing fails, and not again before it worked in between. */
  onError: (error: Error) => void;
}

export interface PostgresSignal {
  /** Begins to hear a queue; the first connects. */
  hear(queue: string): void;
  /** How often the queue has rung so far. */
  rings(queue: string): number;
  /** Makes the waiting consumers check again, without a notification. */
  nudge(): void;
  /** Resolves with true when `isDue`, which is called at each notification; with false when the time has passed or `stop` aborts. */
  waitUntil(isDue: () => boolean, timeoutMs: number, stop: AbortSignal): Promise<boolean>;
  /** When the connection last answered, on the monotonic clock; null before it did. */
  lastPollAtMs(): number | null;
  close(): Promise<void>;
}

const CHANNEL = 'bullmq_jobs';

/** Bounds how long a job waits whose notification was lost, and is all that an idle process asks of the database. */
const POLL_MS = 800;

const CONNECT_TIMEOUT_MS = 5_000;
const RETRY_MS = 50;
const RETRY_MS_MAX = 500;

const POLL_SQL = `/* queue: poll */ select queue from unnest($1::text[]) as queue
  where exists (select from bullmq.job where job.queue = queue.queue and state = 'waiting')`;

/** Makes the signal of a process; it connects when the first queue listens. */
export function createPostgresSignal(options: PostgresSignalOptions): PostgresSignal {
  const counts = new Map<string, number>();
  const sleepers = new Set<() => void>();
  const closing = new AbortController();
  let lastPollAtMs: number | null = null;
  let listening: Promise<void> | null = null;

  function ring(queue: string): void {
    const count = counts.get(queue);
    if (count === undefined) return;
    counts.set(queue, count + 1);
    nudge();
  }

  function nudge(): void {
    for (const look of sleepers) look();
  }

  async function keepListening(): Promise<void> {
    let failures = 0;
    while (!closing.signal.aborted) {
      try {
        await listen(() => (failures = 0));
      } catch (error) {
        if (closing.signal.aborted) return;
        if (failures === 0) options.onError(error as Error);
        failures += 1;
        await pause(Math.min(RETRY_MS * 2 ** failures, RETRY_MS_MAX), closing.signal);
      }
    }
  }

  /** One life of the connection: returns when the signal closes, throws when the connection breaks. */
  async function listen(onConnected: () => void): Promise<void> {
    const client = connectionTo(options.databaseUrl);
    const broken = Promise.withResolvers<never>();
    // The connection may break while no consumer waits on it.
    broken.promise.catch(() => undefined);
    client.on('error', broken.reject);
    client.on('end', () => broken.reject(new Error('the connection that listens to the queue ended')));
    client.on('notification', (message) => ring(message.payload ?? ''));
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      onConnected();
      lastPollAtMs = performance.now();
      for (const queue of counts.keys()) ring(queue);
      while (!closing.signal.aborted) {
        await Promise.race([pause(POLL_MS, closing.signal), broken.promise]);
        if (closing.signal.aborted) return;
        const found = await client.query<{ queue: string }>(POLL_SQL, [[...counts.keys()]]);
        lastPollAtMs = performance.now();
        for (const row of found.rows) ring(row.queue);
      }
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  return {
    hear(queue) {
      if (!counts.has(queue)) counts.set(queue, 0);
      listening ??= keepListening();
    },
    rings: (queue) => counts.get(queue) ?? 0,
    nudge,
    async waitUntil(isDue, timeoutMs, stop) {
      if (isDue() || stop.aborted) return isDue();
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = (): void => {
        if (isDue()) resolve();
      };
      const giveUp = (): void => resolve();
      const timer = setTimeout(giveUp, timeoutMs);
      sleepers.add(look);
      stop.addEventListener('abort', giveUp, { once: true });
      await promise;
      clearTimeout(timer);
      sleepers.delete(look);
      stop.removeEventListener('abort', giveUp);
      return isDue();
    },
    lastPollAtMs: () => lastPollAtMs,
    async close() {
      closing.abort();
      await listening;
    },
  };
}

function connectionTo(databaseUrl: string): pg.Client {
  return new pg.Client({
    connectionString: databaseUrl,
    application_name: 'holdfast:queue:listen',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
    // A host that vanished is noticed by the poll; keep-alive notices it when the poll cannot be sent.
    keepAlive: true,
  });
}

/** Resolves after the time, or immediately when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch {
    // Aborted: the caller checks the signal.
  }
}
