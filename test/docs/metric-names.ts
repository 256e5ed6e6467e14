// The names of all metrics, as the processes of a service make them.
import { createMetrics } from '../../src/api/metrics.ts';
import { measureProcess } from '../../workers/measure-process.ts';

/** Those of a process with every role. */
export function metricNames(): Set<string> {
  const meters = measureProcess({ roles: ['api', 'worker', 'scheduler'], host: '', port: undefined });
  if (meters === null) throw new Error('A process with the api role is not measured.');
  createMetrics(meters.registry, {
    budgets: () => [],
    requestsInside: () => 0,
    eventStreams: () => 0,
    waitingRequests: () => 0,
  });
  void meters.start({ version: '0', lanes: () => ({}), reportAgeMs: () => 0, waiting: () => ({}) }, []);
  return new Set(meters.registry.getMetricsAsArray().map(({ name }) => name));
}
