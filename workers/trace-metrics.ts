// The metrics of traces, in a process that also has the role api.
import { Counter, type Registry } from 'prom-client';

/** Adds the metric to the registry. */
export function createTraceMetrics(registry: Registry): { dropped: (turns: number) => void } {
  const dropped = new Counter({
    name: 'holdfast_traces_dropped_total',
    help: 'Turns whose trace was not exported because too many were waiting or the collector did not accept it',
    registers: [registry],
  });
  return { dropped: (turns) => dropped.inc(turns) };
}
