// The traces of this process, when they are exported somewhere.
import type { Registry } from 'prom-client';
import { systemClock } from '../../clock.ts';
import type { LiveConfig } from '../../config.ts';
import type { Logger } from '../../logger.ts';
import { metricIn } from '../../metrics.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import type { WorkerIdentity } from '../../kernel/processes/report-worker.ts';
import type { Modules } from '../../../workers/load-modules.ts';

interface TraceParts {
  /** Null: they are exported nowhere. */
  startTracing: Modules['startTracing'];
  service: Service;
  identity: WorkerIdentity;
  metrics: Registry | null;
}

/** Starts them; undefined: they are exported nowhere. */
export function startTraces(
  { live: { config }, logger }: { live: LiveConfig; logger: Logger },
  { startTracing, service, identity, metrics }: TraceParts,
) {
  if (startTracing === null) return undefined;
  const dropped = metrics === null ? null : metricIn(metrics, 'holdfast_traces_dropped_total');
  return startTracing({
    config,
    logger,
    clock: systemClock,
    views: service.views,
    version: identity.version,
    instance: identity.name,
    onDropped: (turns) => dropped?.inc(turns),
  });
}
