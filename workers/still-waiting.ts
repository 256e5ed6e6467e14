// Finds out which rings still wait in the queue, by the ids of their jobs.
import type { Lane } from '../src/config.ts';
import type { StaleRing } from '../src/kernel/queue/reconcile.ts';
import type { QueueBackend } from './queue/queue-backend.ts';

/** States in which a worker will still take a job. */
const ALIVE = new Set(['waiting', 'delayed', 'prioritized', 'waiting-children']);

/**
 * The ids of the jobs of these rings that still wait. An empty queue is asked once; rejects when the queue cannot be asked.
 */
export async function stillWaiting(backend: QueueBackend, rings: StaleRing[]): Promise<Set<string>> {
  const alive = new Set<string>();
  for (const [lane, ofLane] of Map.groupBy(rings, (ring) => ring.lane)) {
    // The store writes only lanes of the configuration.
    const queue = backend.queue(lane as Lane);
    const { waiting = 0, delayed = 0, prioritized = 0 } = await queue.getJobCounts('waiting', 'delayed', 'prioritized');
    if (waiting + delayed + prioritized === 0) continue;
    const ids = ofLane.map((ring) => `${ring.sessionId}.${ring.ringNo}`);
    const states = await Promise.all(ids.map((id) => queue.getJobState(id)));
    ids.forEach((id, index) => {
      if (ALIVE.has(states[index] as string)) alive.add(id);
    });
  }
  return alive;
}
