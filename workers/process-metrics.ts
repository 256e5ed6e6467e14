// What a process measures beside its turns and requests: of its role as a worker or a scheduler, and of itself.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Registry } from 'prom-client';
import type { Clock } from '../src/clock.ts';
import { metricIn } from '../src/metrics.ts';
import type { LaneUse } from '../src/kernel/processes/report-worker.ts';
import type { TurnMeter } from '../src/kernel/turn/turn-meter.ts';
import { createBoundedLabel } from './bounded-label.ts';
import type { JobEnd } from './queue/start-lane-worker.ts';
import { createTurnMetrics } from './turn-metrics.ts';

/** How often the delay of the event loop is measured, in milliseconds. */
const LOOP_RESOLUTION_MS = 20;

/** The metrics that a worker calls; each is absent when it is not measured, and must not throw. */
export interface WorkMeters {
  /** Called after each job. */
  onJobEnd?: (end: JobEnd) => void;
  rateMetrics?: RateMetrics;
  meter?: TurnMeter;
}

/** Adds what a worker measures. */
export function createWorkMetrics(registry: Registry, clock: Clock): Required<WorkMeters> {
  const jobs = metricIn(registry, 'holdfast_jobs_total');
  return {
    onJobEnd: ({ queue, job, outcome }) => jobs.inc({ queue, job: job?.kind ?? 'unknown', outcome }),
    rateMetrics: createRateMetrics(registry, clock),
    meter: createTurnMetrics(registry),
  };
}

export interface RateMetrics {
  /** A call has waited for a rate limit or a block. */
  waited: (wait: { model: string; waitedMs: number }) => void;
  /** A model is blocked for so long, or its block was lifted. */
  blocked: (block: { model: string; leftMs: number; isLifted?: boolean }) => void;
}

/** Adds what is measured of waits for models. */
export function createRateMetrics(registry: Registry, clock: Clock): RateMetrics {
  const labelOf = createBoundedLabel();
  const untilMs = new Map<string, number>();
  const waits = metricIn(registry, 'holdfast_rate_wait_seconds');
  metricIn(registry, 'holdfast_model_blocked_seconds', (to) => {
    for (const [model, until] of untilMs) to.set({ model }, Math.max(0, until - clock.monotonicMs()) / 1000);
  });
  return {
    waited: ({ model, waitedMs }) => waits.observe({ model: labelOf(model) }, waitedMs / 1000),
    blocked: ({ model, leftMs, isLifted = false }) => {
      const label = labelOf(model);
      if (isLifted) untilMs.set(label, 0);
      else untilMs.set(label, Math.max(untilMs.get(label) ?? 0, clock.monotonicMs() + leftMs));
    },
  };
}

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

/** Adds what any process measures of itself. Returns the function that ends what it measures with. */
export function createProcessMetrics(registry: Registry, facts: MeasuredFacts): () => void {
  metricIn(registry, 'holdfast_build_info', (to) => to.set({ version: facts.version }, 1));
  metricIn(registry, 'holdfast_slots', (to) => {
    for (const [lane, { slots }] of Object.entries(facts.lanes())) to.set({ lane }, slots);
  });
  metricIn(registry, 'holdfast_slots_in_use', (to) => {
    for (const [lane, { inUse }] of Object.entries(facts.lanes())) to.set({ lane }, inUse);
  });
  metricIn(registry, 'holdfast_report_age_seconds', (to) => to.set(facts.reportAgeMs() / 1000));
  metricIn(registry, 'holdfast_pool_waiting', (to) => {
    for (const [pool, count] of Object.entries(facts.waiting())) to.set({ pool }, count);
  });
  metricIn(registry, 'holdfast_dependency_faults_total', (to) => {
    for (const [dependency, count] of Object.entries(facts.faults())) to.inc({ dependency }, count);
  });
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delay.enable();
  metricIn(registry, 'holdfast_event_loop_lag_seconds', (to) => {
    to.set(Math.max(0, delay.percentile(99) / 1e9 - LOOP_RESOLUTION_MS / 1000) || 0);
    delay.reset();
  });
  return () => void delay.disable();
}
