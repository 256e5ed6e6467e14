// Starts the provider lane of a process with the scheduler's role.
import { livePriceBook } from '../../src/config.ts';
import type { Logger } from '../../src/logger.ts';
import { newId } from '../../src/ids.ts';
import { createAnthropicBatches } from '../../src/model/anthropic-batches.ts';
import type { Service } from '../../src/service/service.ts';
import type { ProviderLaneMetrics } from '../process-metrics.ts';
import { ProviderLane } from './provider-lane.ts';

/** The account of submissions to the scripted model. */
const SCRIPTED_ACCOUNT = 'scripted';

interface LaneOptions {
  logger: Logger;
  endpoint: { apiKey: string; baseUrl?: string; isScripted: boolean };
  /** Absent: nothing is counted. */
  metrics?: ProviderLaneMetrics;
}

/** Starts it; the function that it returns stops it. */
export function startProviderLane(
  { database, publish, config }: Pick<Service, 'database' | 'publish' | 'config'>,
  { logger, endpoint, metrics }: LaneOptions,
): () => Promise<void> {
  const { headers } = config.models.providers.anthropic;
  const { isScripted, ...address } = endpoint;
  const lane = new ProviderLane({
    database,
    publish,
    logger,
    config,
    port: createAnthropicBatches({
      ...address,
      ...(headers === undefined ? {} : { headers }),
      // The scripted model has another port after each start.
      ...(isScripted ? { account: SCRIPTED_ACCOUNT } : {}),
    }),
    prices: livePriceBook(config),
    ...(metrics === undefined ? {} : { metrics }),
    owner: newId<string>(),
    // A submission is leased like a session.
    leaseMs: config.runtime.leaseMs,
    newId: () => newId<string>(),
    random: Math.random,
    monotonicMs: () => performance.now(),
  });
  lane.start();
  return () => lane.stop();
}
