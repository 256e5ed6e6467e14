// The only place that reports to the queue how a job ended. There are two ends: completed, whatever the result of the
// work, because attempts and failures are counted in PostgreSQL and the reconciler rings again; and returned, when it
// was not started.
import { WaitingError } from 'bullmq';
import type { AnyJob } from './queue-backend.ts';

/** `orphan`: the job points to nothing, or to nothing that we know. */
export type JobOutcome = 'done' | 'orphan';

/** Ends a job that was not begun: it goes back to the queue and keeps its place, or is over when the queue is not there. */
export async function giveBack(job: AnyJob, token: string): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}
