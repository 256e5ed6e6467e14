// Makes the reconciler of a process from its parts. It finds out which rings still wait in the
// queue by the ids of their jobs.
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
    stillWaiting: modules.openStillWaiting(backend, live.config.runtime),
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

/**
 * The part of a lease for which a worker may have a job whose session it has not claimed. Then it
 * counts as crashed, in time for G10.
 */
const FETCHED_SHARE = 1 / 3;

/**
 * Returns the function that finds out which rings need no other, by the ids of their jobs: those
 * that wait, and those that a worker has fetched a short time ago. A worker with more jobs than it
 * can claim at once claims the last of them seconds later: after 4.5 s on a machine with a load of
 * 20. All jobs of a queue are asked for together: 0.3 s for 10,000 there. A statement for each of
 * 500 rings took 2.9 s, failed beside turns, and made all 500 seem lost.
 */
export function openStillWaiting(
  backend: Pick<QueueBackend, 'queue'>,
  { leaseMs }: { leaseMs: number },
): (rings: readonly Pick<StaleRing, 'lane'>[]) => Promise<Set<string>> {
  /** When each job that is fetched was first seen so, monotonic, by lane. */
  const fetchedAtMs = new Map<Lane, ReadonlyMap<string, number>>();
  return async (rings) => {
    const alive = new Set<string>();
    for (const lane of new Set(rings.map((ring) => ring.lane))) {
      const queue = backend.queue(lane);
      // In this order a job that is fetched meanwhile is found.
      for (const id of await queue.getRanges(['waiting', 'prioritized'], 0, -1)) alive.add(id);
      const nowMs = performance.now();
      const fetched = await queue.getRanges(['active'], 0, -1);
      const seen = new Map(fetched.map((id) => [id, fetchedAtMs.get(lane)?.get(id) ?? nowMs]));
      fetchedAtMs.set(lane, seen);
      for (const [id, atMs] of seen) if (nowMs - atMs < FETCHED_SHARE * leaseMs) alive.add(id);
    }
    return alive;
  };
}
