// A person drains a process.
import type { KeyedRequest } from '../store/idempotency.ts';
import { drainWorker as drain, type WorkerDrain } from '../store/workers/drain-worker.ts';
import type { Service } from './service.ts';

/** Asks the process to drain; it notices at its next report, and drains as with SIGTERM. */
export function drainWorker(
  { database }: Service,
  request: { id: string; idempotency: KeyedRequest | null },
): Promise<WorkerDrain> {
  return drain(database, request);
}
