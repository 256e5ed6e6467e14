// The dependencies that the parts of the provider lane share, and what a scheduler measures of provider batches.
import type { Publish } from '../../kernel/queue/after-commit.ts';
import type { Config } from '../../config.ts';
import type { PriceBook } from '../../core/prices/price-table.ts';
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
  /** How long a submission is leased, in milliseconds; the lease is renewed while it is worked on. */
  leaseMs: number;
  /** Makes an id of a submission. */
  newId: () => string;
  /** A number in [0, 1), for jitter. */
  random: () => number;
  /** Monotonic milliseconds. */
  monotonicMs: () => number;
}

/** The lease of a submission, as its process trusts it: for a tenth less than it was asked for. */
export class SubmissionLease {
  readonly #parts: LaneParts;
  readonly #id: string;
  readonly #timer: NodeJS.Timeout;
  #askedAtMs: number;

  /** `askedAtMs`: from before the lease was asked for. */
  constructor(parts: LaneParts, { id, askedAtMs }: { id: string; askedAtMs: number }) {
    this.#parts = parts;
    this.#id = id;
    this.#askedAtMs = askedAtMs;
    this.#timer = setInterval(() => void this.#extend(), parts.leaseMs / 3);
  }

  /** Throws when another process may hold the submission by now. */
  assertHeld(): void {
    const { monotonicMs, leaseMs } = this.#parts;
    if (monotonicMs() >= this.#askedAtMs + leaseMs - leaseMs / 10) throw new LeaseLostError(this.#id);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #extend(): Promise<void> {
    const { database, owner, leaseMs, monotonicMs } = this.#parts;
    const askedAtMs = monotonicMs();
    try {
      if (await renewSubmission(database, { id: this.#id, owner, leaseMs })) this.#askedAtMs = askedAtMs;
    } catch (error) {
      database.outages.report(error, 'Lease of a submission could not be renewed', { submission: this.#id });
    }
  }
}

export class LeaseLostError extends Error {
  readonly code = 'lease_lost';
  constructor(id: string) {
    super(`The lease of the submission ${id} ran out before it was sent. Nothing was sent.`);
    this.name = 'LeaseLostError';
  }
}

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
