// What a scheduler measures of provider batches.
import type { Registry } from 'prom-client';
import { metricIn } from '../../metrics.ts';

/** `returned`: it goes into another submission. `left`: it waited too long, and its turn asks live or fails. */
export type RequestOutcome = 'answered' | 'errored' | 'returned' | 'left';

export interface ProviderLaneMetrics {
  /** This many requests have ended with this result. */
  settled: (result: RequestOutcome, requests: number) => void;
  /** The cost of answers of a submission that no turn uses. */
  wasted: (micros: number) => void;
}

/** Adds it. */
export function createProviderLaneMetrics(registry: Registry): ProviderLaneMetrics {
  const requests = metricIn(registry, 'holdfast_provider_requests_total');
  const wasted = metricIn(registry, 'holdfast_provider_cost_wasted_dollars_total');
  return {
    settled(result, count) {
      if (count > 0) requests.inc({ result }, count);
    },
    wasted: (micros) => wasted.inc(micros / 1_000_000),
  };
}
