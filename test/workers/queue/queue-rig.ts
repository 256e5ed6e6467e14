// A process's side of the queue, as the service builds it: a backend, a doorbell, workers.
// Everything is closed at the end of the test, and the log can be read.
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import { createDoorbell, type Doorbell, type QueueName, type TurnRing } from '../../../jobs/index.ts';
import type { SessionId } from '../../../src/core/ids.ts';
import { openQueueBackend, type QueueBackendOptions } from '../../../workers/queue/open-queue-backend.ts';
import type { QueueBackend } from '../../../workers/queue/queue-backend.ts';
import {
  startLaneWorker,
  type JobEnd,
  type LaneWorker,
  type LaneWorkerOptions,
} from '../../../workers/queue/start-lane-worker.ts';
import type { QueueServer } from './queue-server.ts';

export interface QueueRig {
  backend: QueueBackend;
  doorbell: Doorbell;
  /** The messages of the log's warnings, in order. */
  warnings: string[];
  /** Closes everything, as at the end of the test. */
  close(): Promise<void>;
  startWorker: (options: Partial<LaneWorkerOptions> & Pick<LaneWorkerOptions, 'process'>) => Promise<CountingWorker>;
}

/** A lane's worker, and how its jobs have ended so far. */
export interface CountingWorker extends LaneWorker {
  ended: Record<JobEnd['outcome'], number>;
  errors: unknown[];
}

/** Opens a backend, a doorbell and the workers that the test requests. */
export async function openQueueRig(
  server: Pick<QueueServer, 'databaseUrl' | 'redisUrl'> &
    Pick<QueueBackendOptions, 'isMigrating' | 'jobLockMs' | 'sleepMs'>,
  ringTimeoutMs = 120_000,
): Promise<QueueRig> {
  const warnings: string[] = [];
  const logger = { warn: (_: unknown, text?: string) => void warnings.push(text ?? ''), info: () => undefined };
  const backend = await openQueueBackend({ ...server, logger });
  const doorbell = createDoorbell({ queue: backend.queue, outages: backend.outages, ringTimeoutMs });
  const workers: LaneWorker[] = [];
  async function closeAll(): Promise<void> {
    await Promise.all(workers.map((worker) => worker.drain(500)));
    await doorbell.close();
    await backend.close();
  }
  let closed: Promise<void> | null = null;
  const close = (): Promise<void> => (closed ??= closeAll());
  onTestFinished(close);
  return {
    backend,
    doorbell,
    warnings,
    close,
    async startWorker(options) {
      const ended = { done: 0, failed: 0, orphan: 0 };
      const errors: unknown[] = [];
      const onEnd = ({ outcome, error }: JobEnd): void => {
        ended[outcome] += 1;
        if (outcome === 'failed') errors.push(error);
      };
      const worker = await startLaneWorker(backend, { lane: 'main', concurrency: 1, onEnd, ...options });
      workers.push(worker);
      return { ...worker, ended, errors };
    },
  };
}

export function newSession(): SessionId {
  return randomUUID() as SessionId;
}

/** A ring of the inbound kind; for a new session unless one is given. */
export function ring(sessionId = newSession(), ringNo = 1, lane: TurnRing['lane'] = 'main'): TurnRing {
  return { kind: 'inbound', lane, sessionId, ringNo };
}

/** The jobs that a worker received, and a way to wait for them. */
export class Seen {
  readonly sessions: string[] = [];
  #waiting: { count: number; resolve: () => void }[] = [];

  add(sessionId: string): void {
    this.sessions.push(sessionId);
    for (const waiting of this.#waiting) if (this.sessions.length >= waiting.count) waiting.resolve();
  }

  /** Resolves when this many jobs have been seen in all. */
  async count(count: number): Promise<void> {
    if (this.sessions.length >= count) return;
    await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
  }
}

/** A gate at which workers wait until the test opens it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** All jobs of a queue that have not ended. */
export async function pending(rig: QueueRig, name: QueueName = 'main'): Promise<number> {
  const { waiting, active, delayed } = (await rig.doorbell.depth())[name];
  return waiting + active + delayed;
}

/** Resolves when a worker has seen the queue empty, after one job: from then on it is idle. */
export async function asleep(rig: QueueRig, seen: Seen): Promise<void> {
  const before = seen.sessions.length;
  await rig.doorbell.ring([ring()]);
  await seen.count(before + 1);
  await expect.poll(() => pending(rig)).toBe(0);
}
