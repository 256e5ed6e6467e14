// A scheduler's metrics of provider batches.
import { Counter, type Registry } from 'prom-client';

/** `returned`: it goes into another submission. `left`: it waited too long, and its turn asks live or fails. */
export type RequestOutcome = 'answered' | 'errored' | 'returned' | 'left';

export interface ProviderLaneMetrics {
  /** This many requests have ended with this result. */
  settled: (result: RequestOutcome, requests: number) => void;
  /** The cost of answers of a submission that no turn uses. */
  wasted: (micros: number) => void;
}

/** Adds the counters to the registry. */
export function createProviderLaneMetrics(registry: Registry): ProviderLaneMetrics {
  const requests = new Counter({
    name: 'holdfast_provider_requests_total',
    help: 'Requests in provider batches with a result',
    labelNames: ['result'] as const,
    registers: [registry],
  });
  const wasted = new Counter({
    name: 'holdfast_provider_cost_wasted_dollars_total',
    help: "Cost of the provider's answers that no turn uses",
    registers: [registry],
  });
  return {
    settled(result, count) {
      if (count > 0) requests.inc({ result }, count);
    },
    wasted: (micros) => wasted.inc(micros / 1_000_000),
  };
}
