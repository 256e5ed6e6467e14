// Makes the reconciler of a process from its parts.
import type { LiveConfig } from '../src/config.ts';
import type { Logger } from '../src/logger.ts';
import type { Service } from '../src/kernel/use-cases/service.ts';
import type { ProcessPart, Role } from '../src/kernel/processes/process-part.ts';
import type { Modules } from './load-modules.ts';
import type { QueueBackend } from './queue/queue-backend.ts';
import type { RunningWorker } from './start-worker.ts';

interface ReconcilerParts {
  modules: Modules;
  service: Service;
  backend: QueueBackend;
  /** What the features run in this process. */
  parts: readonly ProcessPart[];
  /** Absent: nothing counts the jobs that are added again. */
  onRepeated?: ((rings: number) => void) | undefined;
  /** The worker of this process, once it runs. */
  worker: () => RunningWorker | undefined;
}

/** Makes the reconciler of a process, which is not started. */
export function createReconciler(
  { live: { config }, roles, logger }: { live: LiveConfig; roles: readonly Role[]; logger: Logger },
  { modules, service, backend, parts, onRepeated, worker }: ReconcilerParts,
) {
  return new modules.Reconciler({
    database: service.database,
    publish: service.publish,
    logger,
    onRepeated,
    reconcileMs: config.runtime.reconcileMs,
    endOverdue: () => modules.endOverdue(service),
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
