// The only place that reports to the queue how a job ended. There are two ends: completed, whatever the result of the
// work, because attempts and failures are counted in PostgreSQL and the reconciler rings again; and returned, when it
// was not started.
import { WaitingError } from 'bullmq';
import type { QueueJob } from './queue-backend.ts';

/** `orphan`: the job points to nothing, or to nothing that we know. */
export type JobOutcome = 'done' | 'orphan';

/** Ends a job that was not started: it returns to the queue, or is found stalled when the queue is unavailable. */
export async function returnJob(job: QueueJob, token: string): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}
