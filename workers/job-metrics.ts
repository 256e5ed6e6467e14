// The metrics of a worker's jobs.
import { Counter, type Registry } from 'prom-client';
import type { JobEnd } from './queue/start-lane-worker.ts';

/** Adds the counter of jobs to the registry and returns the function that counts one. */
export function createJobMetrics(registry: Registry): (end: JobEnd) => void {
  const jobs = new Counter({
    name: 'holdfast_jobs_total',
    help: 'Ended jobs, by queue, name and outcome',
    labelNames: ['queue', 'job', 'outcome'] as const,
    registers: [registry],
  });
  return ({ queue, job, outcome }) => jobs.inc({ queue, job: job?.kind ?? 'unknown', outcome });
}
