// The only place that tells the queue how a job ended. There are two ends: over, whatever became of the work, because
// attempts and failures are counted in PostgreSQL and the reconciler rings again; and given back, when it was not begun.
import { WaitingError } from 'bullmq';
import type { AnyJob } from './queue-backend.ts';

/** `orphan`: the job points to nothing, or to nothing that we know. */
export type JobOutcome = 'done' | 'orphan';

/** Ends a job that was not begun: it goes back to the queue and keeps its place, or is over when the queue is not there. */
export async function giveBack(job: AnyJob, token: string): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}
