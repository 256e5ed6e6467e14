// Starts the provider lane of a process with the scheduler's role.
import type { Logger } from '../../src/logger.ts';
import { newId } from '../../src/ids.ts';
import { createAnthropicBatches } from '../../src/model/anthropic-batches.ts';
import type { Service } from '../../src/service/service.ts';
import { ProviderLane } from './provider-lane.ts';

/** How long a submission is leased, in milliseconds. */
const SUBMISSION_LEASE_MS = 15_000;

/** Starts it; the function that it returns stops it. */
export function startProviderLane(
  { database, publish, config }: Pick<Service, 'database' | 'publish' | 'config'>,
  { logger, endpoint }: { logger: Logger; endpoint: { apiKey: string; baseUrl?: string } },
): () => Promise<void> {
  const { headers } = config.models.providers.anthropic;
  const lane = new ProviderLane({
    database,
    publish,
    logger,
    config,
    port: createAnthropicBatches({ ...endpoint, ...(headers === undefined ? {} : { headers }) }),
    owner: newId<string>(),
    leaseMs: SUBMISSION_LEASE_MS,
    newId: () => newId<string>(),
    random: Math.random,
    monotonicMs: () => performance.now(),
  });
  lane.start();
  return () => lane.stop();
}
