// The dependencies that the parts of the provider lane share, and what a scheduler measures of
// provider batches.
import type { Publish } from '../../kernel/queue/after-commit.ts';
import type { Clock } from '../../clock.ts';
import type { Config } from '../../config.ts';
import type { PriceBook } from '../../core/prices.ts';
import { keepLease, type KeptLease } from '../../lease-keeper.ts';
import type { Logger } from '../../logger.ts';
import type { BatchPort } from './batch-port.ts';
import type { Database } from '../../database/database.ts';
import { renewSubmission } from './store/submissions.ts';
import type { Registry } from 'prom-client';
import { metricIn } from '../../metrics.ts';

export interface LaneParts {
  database: Database;
  publish: Publish;
  logger: Logger;
  config: { batches: Omit<Config['batches'], 'retention'>; models: Pick<Config['models'], 'outage'> };
  port: BatchPort;
  /** The prices of the answers of batches. */
  prices: PriceBook;
  /** Absent: nothing is counted. */
  metrics?: ProviderLaneMetrics;
  /** Names this process in the leases of submissions. */
  owner: string;
  /**
   * How long a submission is leased, in milliseconds; the lease is renewed while it is worked on.
   */
  leaseMs: number;
  clock: Clock;
}

/**
 * Keeps the lease of a submission that was just claimed. `askedAtMs`: from before the claim was
 * sent.
 */
export function keepSubmission(
  { database, clock, owner, leaseMs }: LaneParts,
  { id, askedAtMs }: { id: string; askedAtMs: number },
): KeptLease {
  const renew = (): Promise<boolean> => renewSubmission(database, { id, owner, leaseMs });
  return keepLease({ id, leaseMs, askedAtMs, clock, of: 'submissions', outages: database.outages, renew });
}

/**
 * `returned`: it goes into another submission. `left`: it waited too long, and its turn asks live
 * or fails.
 */
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
