// A worker's metrics of the waits for models.
import { Gauge, Histogram, type Registry } from 'prom-client';
import type { Clock } from '../src/clock.ts';
import { createBoundedLabel } from './bounded-label.ts';

const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];

export interface RateMetrics {
  /** A call has waited for a rate limit or a block. */
  waited: (wait: { model: string; waitedMs: number }) => void;
  /** A model is blocked for so long, or its block was lifted. */
  blocked: (block: { model: string; leftMs: number; isLifted?: boolean }) => void;
}

/** Adds the metrics to the registry. */
export function createRateMetrics(registry: Registry, clock: Clock): RateMetrics {
  const labelOf = createBoundedLabel();
  const untilMs = new Map<string, number>();
  const waits = new Histogram({
    name: 'holdfast_rate_wait_seconds',
    help: 'Time that model calls waited for a rate limit or a block; calls that did not wait are not included',
    labelNames: ['model'] as const,
    buckets: SECONDS,
    registers: [registry],
  });
  new Gauge({
    name: 'holdfast_model_blocked_seconds',
    help: 'Time until the model can be called again after a Retry-After; 0 if it can be called now',
    labelNames: ['model'] as const,
    registers: [registry],
    collect() {
      for (const [model, until] of untilMs) this.set({ model }, Math.max(0, until - clock.monotonicMs()) / 1000);
    },
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
