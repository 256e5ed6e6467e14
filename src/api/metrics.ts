// What the API measures of itself, and what a scrape learns from the database: gauges that are read on each scrape, by two
// queries for all, and that are absent when the database does not answer. No label names a session or a user.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ScrapeFigures } from '../store/views/scrape-figures.ts';
import type { StatsView } from '../store/views/stats.ts';
import type { Readiness } from './readiness.ts';
import { ScrapeGauges } from './scrape-gauges.ts';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface ApiMetrics {
  registry: Registry;
  /** Counts an answered request; `route` is the path of the table, never the requested path. Null: it only waited. */
  observeRequest(request: { method: string; route: string; status: number; durationMs: number | null }): void;
  /** Everything, as Prometheus reads it. */
  render(stats: StatsView | null, figures: ScrapeFigures | null, readiness: Readiness | null): Promise<string>;
}

/** Makes the metrics of an API process, in the given registry or in a new one. */
export function createMetrics(
  shared: Registry | undefined,
  now: {
    budgets: () => readonly { name: string; usedRatio: number }[];
    requestsInside: () => number;
    eventStreams: () => number;
    waitingRequests: () => number;
  },
): ApiMetrics {
  const registry = shared ?? new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'holdfast_http_requests_total',
    help: 'Completed requests',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'holdfast_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last byte of its answer; excludes event streams and waits',
    labelNames: ['method', 'route'],
    buckets: SECONDS,
    registers: [registry],
  });
  gaugeOf(registry, 'holdfast_http_requests_inside', 'Requests in progress', now.requestsInside);
  gaugeOf(registry, 'holdfast_event_streams', 'Open event streams', now.eventStreams);
  gaugeOf(registry, 'holdfast_events_open_streams', 'The same as holdfast_event_streams', now.eventStreams);
  gaugeOf(registry, 'holdfast_waiting_requests', 'Requests that wait for a reply', now.waitingRequests);
  new Gauge({
    name: 'holdfast_budget_used_ratio',
    help: "Spent and reserved share of each budget's limit in its current window",
    labelNames: ['budget'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, usedRatio } of now.budgets()) this.set({ budget: name }, usedRatio);
    },
  });
  const dependencies = new Gauge({
    name: 'holdfast_dependency_up',
    help: '1 if this process can use the dependency, by dependency, as GET /readyz says',
    labelNames: ['dependency'] as const,
    registers: [registry],
  });
  const stats = new StatsGauges(registry);
  const scraped = new ScrapeGauges(registry);
  return {
    registry,
    observeRequest({ method, route, status, durationMs }) {
      requests.inc({ method, route, status });
      if (durationMs !== null) durations.observe({ method, route }, durationMs / 1000);
    },
    async render(view, figures, readiness) {
      dependencies.reset();
      for (const { name, status } of readiness?.dependencies ?? [])
        dependencies.set({ dependency: name }, status === 'ok' ? 1 : 0);
      stats.set(view);
      scraped.set(figures);
      return registry.metrics();
    },
  };
}

function gaugeOf(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

/** The gauges that come from the database. */
class StatsGauges {
  readonly #up: Gauge;
  readonly #single: Record<'sessions' | 'liveLocks' | 'oldestWait' | 'deadLetters' | 'systemEvents', Gauge>;
  readonly #byStatus: Record<'messages' | 'turns' | 'deliveries', Gauge<'status'>>;
  readonly #queueDepth: Gauge<'lane'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const gauge = (name: string, help: string) => new Gauge({ name: `holdfast_${name}`, help, registers });
    const byStatus = (name: string, help: string) =>
      new Gauge({ name: `holdfast_${name}`, help, labelNames: ['status'] as const, registers });
    this.#up = gauge('database_up', '1 if the database answered this scrape');
    this.#single = {
      sessions: gauge('sessions', 'Sessions'),
      liveLocks: gauge('live_locks', 'Sessions that a worker has claimed'),
      oldestWait: gauge('oldest_wait_seconds', 'Age of the oldest waiting message'),
      deadLetters: gauge('dead_letters_open', 'Dead letters that wait for a decision'),
      systemEvents: gauge('system_events_waiting', 'System events that wait for a prompt'),
    };
    this.#byStatus = {
      messages: byStatus('messages', 'Messages by status'),
      turns: byStatus('turns', 'Turns by status'),
      deliveries: byStatus('deliveries', 'Deliveries by status'),
    };
    this.#queueDepth = new Gauge({
      name: 'holdfast_queue_depth',
      help: 'Sessions that have work but no worker',
      labelNames: ['lane'] as const,
      registers,
    });
  }

  set(view: StatsView | null): void {
    this.#up.set(view === null ? 0 : 1);
    for (const gauge of [...Object.values(this.#byStatus), this.#queueDepth]) gauge.reset();
    for (const gauge of Object.values(this.#single)) gauge.remove();
    if (view === null) return;
    this.#single.sessions.set(view.sessions);
    this.#single.liveLocks.set(view.liveLocks);
    this.#single.oldestWait.set((view.oldestWaitMs ?? 0) / 1000);
    this.#single.deadLetters.set(view.deadLetters);
    this.#single.systemEvents.set(view.systemEventsWaiting);
    for (const noun of ['messages', 'turns', 'deliveries'] as const) {
      for (const [status, count] of Object.entries(view[noun])) this.#byStatus[noun].set({ status }, count);
    }
    for (const [lane, depth] of Object.entries(view.queueDepth)) this.#queueDepth.set({ lane }, depth);
  }
}
