// Makes the reconciler of a process from its parts. It finds out which rings still wait in the queue by the ids of their jobs.
import type { Lane, LiveConfig } from '../src/config.ts';
import type { Logger } from '../src/logger.ts';
import type { Service } from '../src/kernel/use-cases/service.ts';
import type { ProcessPart, Role } from '../src/kernel/process-part.ts';
import type { WorkWatch } from '../src/kernel/queue/work-watch.ts';
import type { Modules } from './load-modules.ts';
import type { QueueBackend } from './queue/queue-backend.ts';
import type { RunningWorker } from './start-worker.ts';
import type { StaleRing } from '../src/kernel/queue/reconcile.ts';

interface ReconcilerParts {
  modules: Modules;
  service: Service;
  backend: QueueBackend;
  /** What the features run in this process. */
  parts: readonly ProcessPart[];
  /** Asks whether there is work, for all rounds of the process. */
  watch: WorkWatch;
  /** Absent: nothing counts the jobs that are added again. */
  onRepeated?: ((rings: number) => void) | undefined;
  /** The worker of this process, once it runs. */
  worker: () => RunningWorker | undefined;
}

/** Makes the reconciler of a process, which is not started. */
export function createReconciler(
  { live, roles, logger }: { live: LiveConfig; roles: readonly Role[]; logger: Logger },
  { modules, service, backend, parts, watch, onRepeated, worker }: ReconcilerParts,
) {
  return new modules.Reconciler({
    config: service.config,
    database: service.database,
    effects: service.effects,
    publish: service.publish,
    logger,
    onRepeated,
    reconcileMs: live.config.runtime.reconcileMs,
    watch,
    stillWaiting: (rings) => modules.stillWaiting(backend, rings),
    due: parts.flatMap(({ due }) => due ?? []),
    pingQueue: () => backend.ping(),
    onQueueFault: backend.outages.failed,
    lanes: roles.includes('worker')
      ? {
          free: (lane) => worker()?.direct.free(lane) ?? 0,
          tryRun: (lane, ring) => worker()?.direct.tryRun(lane, ring) ?? false,
        }
      : null,
  });
}

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
