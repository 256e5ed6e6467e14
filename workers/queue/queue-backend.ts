// What the rest of Holdfast sees of BullMQ: a backend that opens producers and consumers of queues. One code path uses it;
// PostgreSQL and Redis provide it.
import type { Job, Queue, Worker } from 'bullmq';
import type { QueueName } from '../../jobs/index.ts';
import type { OutageLog } from '../../src/outage-log.ts';

/** A BullMQ worker or queue of either backend; only what both backends have is used. */
export type AnyQueue = Pick<Queue, 'addBulk' | 'getJobCounts' | 'getJobState' | 'close'>;
type AnyWorker = Pick<Worker, 'pause' | 'resume' | 'close'>;
export type AnyJob = Pick<Job, 'id' | 'name' | 'data' | 'moveToWait'>;

interface WorkerSettings {
  concurrency: number;
  /** Runs a job. A rejection gives the job back; see `settle.ts`, the only place that makes one. */
  process: (job: AnyJob, token: string) => Promise<void>;
}

/** The consuming side of one queue. */
interface QueueConsumer {
  worker: AnyWorker;
  /** When the queue last answered this consumer, on the monotonic clock; null before the first answer. */
  lastPollAtMs(): number | null;
  /** Stops fetching jobs before the worker does, and returns those that were fetched and not started. */
  interrupt(): Promise<void>;
  /** Takes jobs again after `interrupt`. */
  resume(): Promise<void>;
}

export interface QueueBackend {
  kind: 'postgres' | 'redis';
  /** Takes what the callers meet when the queue cannot be reached. */
  outages: OutageLog;
  /** Opens the producing side of a queue; without a connection of its own. */
  openQueue: (name: QueueName) => AnyQueue;
  /** Opens the consuming side of a queue, which starts to fetch jobs immediately. */
  openConsumer(name: QueueName, settings: WorkerSettings): QueueConsumer;
  /** Resolves when the queue answers; rejects when it does not, within some seconds. */
  ping(): Promise<void>;
  /** Ends the connections. Workers and queues are closed before. */
  close(): Promise<void>;
}
