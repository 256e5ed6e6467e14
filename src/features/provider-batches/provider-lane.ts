// The provider lane of a process with the scheduler's role: it submits queued requests, follows submissions to their end, and takes requests out
// whose deadline is near. Any number may run against one database: each submission is leased to one of them. All state is in the database, so a
// round that is lost costs time.
import { livePriceBook } from '../../config.ts';
import { laneRoundMs } from './rules/submission.ts';
import type { Logger } from '../../logger.ts';
import { newId } from '../../ids.ts';
import { createAnthropicBatches } from './anthropic-batches.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { leaveLane } from './store/store-results.ts';
import { workOff } from '../../work-off.ts';
import type { ProviderLaneMetrics } from '../../../workers/process-metrics.ts';
import { startRounds } from '../../kernel/queue/start-rounds.ts';
import { collectRequests } from './collect-requests.ts';
import { followSubmission } from './follow-submission.ts';
import { LeaseLostError, type LaneParts } from './lane-parts.ts';

/** The account of submissions to the scripted model. */
const SCRIPTED_ACCOUNT = 'scripted';
/** The most steps of one kind in a round. */
const STEPS_MAX = 50;

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
  return startLaneRounds({
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
}

/** Starts the rounds of a lane. Returns the function that ends them after the step in progress. */
export function startLaneRounds(parts: LaneParts): () => Promise<void> {
  const pauseMs = {
    first: 0,
    // The settings may be loaded again.
    get min() {
      return laneRoundMs(parts.config.batches);
    },
    get max(): number {
      return this.min;
    },
  };
  const failure = 'Round of the provider lane failed; the next round retries';
  return startRounds({ database: parts.database, round: (signal) => runLaneRound(parts, signal), failure, pauseMs });
}

async function runLaneRound(parts: LaneParts, signal: AbortSignal): Promise<void> {
  const { database, publish, logger, metrics } = parts;
  async function leave(): Promise<boolean> {
    const { moved } = publish(await leaveLane(database));
    metrics?.settled('left', moved);
    return moved > 0;
  }
  try {
    for (const step of [leave, collectRequests, followSubmission])
      await workOff(() => step(parts), { signal, portionsMax: STEPS_MAX });
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    logger.warn({ err: error }, 'Submission was not sent');
  }
}
