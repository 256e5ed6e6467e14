// Everything that the role of a worker measures for `/metrics`.
import type { Registry } from 'prom-client';
import type { Clock } from '../src/clock.ts';
import type { TurnMeter } from '../src/turn/turn-meter.ts';
import { createJobMetrics } from './job-metrics.ts';
import { createDeliveryMetrics, type DeliveryOutcome } from './process-metrics.ts';
import type { JobEnd } from './queue/start-lane-worker.ts';
import { createRateMetrics, type RateMetrics } from './rate-metrics.ts';
import { createTurnMetrics } from './turn-metrics.ts';

/** The metrics that a worker calls; each is absent when it is not measured, and must not throw. */
export interface WorkMeters {
  /** Called after each job. */
  onJobEnd?: (end: JobEnd) => void;
  /** Called after each attempt to deliver. */
  onDelivery?: (status: DeliveryOutcome) => void;
  rateMetrics?: RateMetrics;
  meter?: TurnMeter;
}

/** Adds them to the registry. */
export function createWorkMetrics(registry: Registry, clock: Clock): Required<WorkMeters> {
  return {
    onJobEnd: createJobMetrics(registry),
    onDelivery: createDeliveryMetrics(registry),
    rateMetrics: createRateMetrics(registry, clock),
    meter: createTurnMetrics(registry),
  };
}
