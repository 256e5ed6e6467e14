// What any process measures of itself for `/metrics`: its version, its slots, its connections, its statements and its delays.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { LaneUse } from '../src/store/workers/report-worker.ts';

/** How often the delay of the event loop is measured, in milliseconds. */
const LOOP_RESOLUTION_MS = 20;
const STATEMENT_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

/** The values that are read on each scrape. */
export interface MeasuredFacts {
  version: string;
  lanes: () => Record<string, LaneUse>;
  /** How long ago the last report of this process was written, in milliseconds. */
  reportAgeMs: () => number;
  /** Callers that wait for a connection, by pool. */
  waiting: () => Record<string, number>;
  /** Faults since the process started, by dependency. */
  faults: () => Record<string, number>;
}

/** Adds the gauges of the process to the registry. Returns the function that ends what they measure with. */
export function createProcessMetrics(registry: Registry, facts: MeasuredFacts): () => void {
  const registers = [registry];
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    read: (to: Gauge<Label>) => void,
  ) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        read(this);
      },
    });
  gauge('holdfast_build_info', '1, with the version of this process', ['version'], (to) =>
    to.set({ version: facts.version }, 1),
  );
  gauge('holdfast_slots', 'Jobs that this process can run at once', ['lane'], (to) => {
    for (const [lane, { slots }] of Object.entries(facts.lanes())) to.set({ lane }, slots);
  });
  gauge('holdfast_slots_in_use', 'Jobs that this process is running', ['lane'], (to) => {
    for (const [lane, { inUse }] of Object.entries(facts.lanes())) to.set({ lane }, inUse);
  });
  gauge('holdfast_report_age_seconds', 'Time since this process last reported to the database', [], (to) =>
    to.set(facts.reportAgeMs() / 1000),
  );
  gauge('holdfast_pool_waiting', 'Statements that wait for a connection to PostgreSQL', ['pool'], (to) => {
    for (const [pool, count] of Object.entries(facts.waiting())) to.set({ pool }, count);
  });
  new Counter({
    name: 'holdfast_dependency_faults_total',
    help: 'Calls that failed because the database or the queue did not work; all of them are retried',
    labelNames: ['dependency'] as const,
    registers,
    collect() {
      this.reset();
      for (const [dependency, count] of Object.entries(facts.faults())) this.inc({ dependency }, count);
    },
  });
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delay.enable();
  gauge(
    'holdfast_event_loop_lag_seconds',
    'Delay of the event loop: the 99th percentile since the last scrape',
    [],
    (to) => {
      to.set(Math.max(0, delay.percentile(99) / 1e9 - LOOP_RESOLUTION_MS / 1000) || 0);
      delay.reset();
    },
  );
  return () => void delay.disable();
}

/** Adds the histogram of statements to the registry, and returns the function that measures one. Names are those of `npm run sql`. */
export function createStatementMetrics(registry: Registry): (name: string, durationMs: number) => void {
  const seconds = new Histogram({
    name: 'holdfast_statement_duration_seconds',
    help: 'Duration of statements, including the wait for a connection',
    labelNames: ['name'] as const,
    buckets: STATEMENT_SECONDS,
    registers: [registry],
  });
  return (name, durationMs) => seconds.observe({ name }, durationMs / 1000);
}

/** Adds the counter of repeated rings to the registry, and returns the function that counts them. */
export function createRingMetrics(registry: Registry): (rings: number) => void {
  const repeated = new Counter({
    name: 'holdfast_rings_repeated_total',
    help: 'Jobs that the reconciler added again because the job or its worker was lost',
    registers: [registry],
  });
  return (rings) => repeated.inc(rings);
}

/** How a delivery was settled; `retried`: it is sent again later. */
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number];

const DELIVERY_OUTCOMES = ['sent', 'failed', 'retried'] as const;

/** Adds the counter of deliveries to the registry, and returns the function that counts one. */
export function createDeliveryMetrics(registry: Registry): (status: DeliveryOutcome) => void {
  const deliveries = new Counter({
    name: 'holdfast_deliveries_total',
    help: 'Attempts to deliver',
    labelNames: ['status'] as const,
    registers: [registry],
  });
  // A rate needs a first value: the first failure must count.
  for (const status of DELIVERY_OUTCOMES) deliveries.inc({ status }, 0);
  return (status) => deliveries.inc({ status });
}
