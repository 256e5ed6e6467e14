// What the API measures of itself and of the dependencies of its process. Features add metrics of their own.
import { Registry } from 'prom-client';
import type { Readiness } from '../contract/answers.ts';
import { addNodeMetrics, metricIn } from '../metrics.ts';
import { READ_ONLY } from '../kernel/views/database.ts';
import type { AddMetrics } from './part.ts';

export interface ApiMetrics {
  registry: Registry;
  /** Counts an answered request; `route` is the path of the table, never the requested path. Null: it only waited. */
  observeRequest(request: { method: string; route: string; status: number; durationMs: number | null }): void;
  /** Everything, as Prometheus reads it. */
  render(readiness: Promise<Readiness | null>): Promise<string>;
}

/** Makes the metrics of an API process, in the given registry or in a new one. */
export function createMetrics(
  shared: Registry | undefined,
  now: {
    requestsInside: () => number;
    eventStreams: () => number;
    waitingRequests: () => number;
  },
  added: readonly AddMetrics[],
): ApiMetrics {
  const registry = shared ?? new Registry();
  addNodeMetrics(registry);
  const requests = metricIn(registry, 'holdfast_http_requests_total');
  const durations = metricIn(registry, 'holdfast_http_request_duration_seconds');
  metricIn(registry, 'holdfast_http_requests_inside', (to) => to.set(now.requestsInside()));
  metricIn(registry, 'holdfast_event_streams', (to) => to.set(now.eventStreams()));
  metricIn(registry, 'holdfast_events_open_streams', (to) => to.set(now.eventStreams()));
  metricIn(registry, 'holdfast_waiting_requests', (to) => to.set(now.waitingRequests()));
  const dependencies = metricIn(registry, 'holdfast_dependency_up');
  const databaseUp = metricIn(registry, 'holdfast_database_up');
  const scrapes = added.flatMap((add) => add(registry) ?? []);
  return {
    registry,
    observeRequest({ method, route, status, durationMs }) {
      requests.inc({ method, route, status });
      if (durationMs !== null) durations.observe({ method, route }, durationMs / 1000);
    },
    async render(readiness) {
      const [found] = await Promise.all([readiness, ...scrapes.map((scrape) => scrape())]);
      dependencies.reset();
      databaseUp.set(0);
      for (const { name, status, error } of found?.dependencies ?? []) {
        dependencies.set({ dependency: name }, status === 'ok' ? 1 : 0);
        // A database that takes no writes answers.
        if (name === 'database') databaseUp.set(status === 'ok' || error === READ_ONLY ? 1 : 0);
      }
      return registry.metrics();
    },
  };
}
