// The names of all metrics, as the processes of a service make them, and those that a text names.
import { createMetrics } from '../../src/api/metrics.ts';
import { createTraceMetrics } from '../../workers/trace-metrics.ts';
import { measureProcess } from '../../workers/measure-process.ts';

/** Those of a process with every role. */
export const metricNames: ReadonlySet<string> = namesOfProcess();

/** The metrics that a text names, each once, without the suffixes of the series of a histogram. */
export function namedMetrics(text: string): string[] {
  const names = text.match(/\b(?:holdfast|gen_ai|process|nodejs)_[a-z_]*[a-z]\b(?!\.)/g) ?? [];
  return [...new Set(names.map((name) => name.replace(/_(?:bucket|count|sum)$/, '')))];
}

function namesOfProcess(): Set<string> {
  const meters = measureProcess({ roles: ['api', 'worker', 'scheduler'], host: '', port: undefined });
  if (meters === null) throw new Error('A process with the api role is not measured.');
  createMetrics(meters.registry, {
    budgets: () => [],
    requestsInside: () => 0,
    eventStreams: () => 0,
    waitingRequests: () => 0,
  });
  createTraceMetrics(meters.registry);
  void meters.start(
    {
      version: '0',
      lanes: () => ({}),
      reportAgeMs: () => 0,
      waiting: () => ({}),
      faults: () => ({ database: 0, queue: 0 }),
    },
    { push: () => undefined },
  );
  return new Set(meters.registry.getMetricsAsArray().map(({ name }) => name));
}
