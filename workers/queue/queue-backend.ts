// The interface of BullMQ for the rest of Holdfast, which its two servers must implement.
import type { BackendFactory, IQueueBackend, Job, Queue, Worker } from 'bullmq';
import type { QueueName } from '../../jobs/index.ts';
import type { OutageLog } from '../../src/logger.ts';

export type ProducerQueue = Pick<Queue, 'add' | 'addBulk' | 'getJobCounts' | 'getRanges' | 'close'>;
export type QueueJob = Pick<Job, 'name' | 'data' | 'moveToWait'>;

interface WorkerSettings {
  concurrency: number;
  /**
   * Runs a job. A rejection gives the job back; see `returnJob` in `start-lane-worker.ts`, the only
   * place that makes one.
   */
  process: (job: QueueJob, token: string) => Promise<void>;
}

export interface QueueBackend {
  kind: QueueServer['kind'];
  /** Receives the errors of callers while the queue cannot be reached. */
  outages: OutageLog;
  /** The producing side of a queue, opened once. */
  queue: (name: QueueName) => ProducerQueue;
  /** Starts a worker, which fetches jobs immediately. Rejects when the queue cannot be reached. */
  startWorker(name: QueueName, settings: WorkerSettings): Promise<Pick<Worker, 'close'>>;
  /** Resolves when the queue answers; rejects when it does not, within some seconds. */
  ping(): Promise<void>;
  /** Closes the queues and ends the connections. Workers are closed before. */
  close(): Promise<void>;
}

/**
 * A server that BullMQ keeps its jobs in. It was reached once, and its connections are restored by
 * themselves.
 */
export interface QueueServer {
  kind: 'postgres' | 'redis';
  /** Makes BullMQ's own backend for a queue to add jobs to. */
  queueBackend: BackendFactory<IQueueBackend>;
  /** Connects for one worker of a queue; returns what makes BullMQ's own backend for it. */
  connectWorker(name: QueueName): Promise<BackendFactory<IQueueBackend>>;
  /** How long a worker that is not notified sleeps before it polls. */
  sleepMs: number;
  ping(): Promise<void>;
  close(): Promise<void>;
}
