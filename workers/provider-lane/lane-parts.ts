// The dependencies that the parts of the provider lane share.
import type { Publish } from '../../src/after-commit.ts';
import type { Config } from '../../src/config.ts';
import type { PriceBook } from '../../src/core/prices/price-table.ts';
import type { Logger } from '../../src/logger.ts';
import type { BatchPort } from '../../src/model/batch-port.ts';
import type { Database } from '../../src/store/database.ts';
import type { ProviderLaneMetrics } from '../process-metrics.ts';

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

/** The lease of a submission, as its process trusts it. */
export class SubmissionLease {
  readonly id: string;
  readonly #parts: LaneParts;
  readonly #renew: (id: string) => Promise<boolean>;
  readonly #timer: NodeJS.Timeout;
  #trustedUntilMs: number;

  /** `askedAtMs`: from before the lease was asked for. */
  constructor(parts: LaneParts, held: { id: string; askedAtMs: number }, renew: (id: string) => Promise<boolean>) {
    this.id = held.id;
    this.#parts = parts;
    this.#renew = renew;
    this.#trustedUntilMs = held.askedAtMs + parts.leaseMs - parts.leaseMs / 10;
    this.#timer = setInterval(() => void this.#extend(), parts.leaseMs / 3);
  }

  /** Throws when another process may hold the submission by now. */
  assertHeld(): void {
    if (this.#parts.monotonicMs() >= this.#trustedUntilMs) throw new LeaseLostError(this.id);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #extend(): Promise<void> {
    const askedAtMs = this.#parts.monotonicMs();
    try {
      if (await this.#renew(this.id)) this.#trustedUntilMs = askedAtMs + this.#parts.leaseMs - this.#parts.leaseMs / 10;
    } catch (error) {
      this.#parts.database.outages.report(error, 'Lease of a submission could not be renewed', { submission: this.id });
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
