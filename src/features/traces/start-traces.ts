// The traces of a process.
import { systemClock } from '../../clock.ts';
import type { OpenTracing } from '../../kernel/processes/process-part.ts';
import { metricIn } from '../../metrics.ts';
import { startTracing } from './start-tracing.ts';

export const startTraces: OpenTracing = ({ service: { config, views }, logger, identity, metrics }) => {
  const dropped = metrics === null ? null : metricIn(metrics, 'holdfast_traces_dropped_total');
  return startTracing({
    config,
    logger,
    clock: systemClock,
    views,
    version: identity.version,
    instance: identity.name,
    onDropped: (turns) => dropped?.inc(turns),
  });
};
