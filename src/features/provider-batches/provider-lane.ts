// The provider lane of a process with the scheduler's role: it submits queued requests, follows
// submissions to their end, and takes requests out whose deadline is near. Any number may run
// against one database: each submission is leased to one of them. All state is in the database, so
// a round that is lost costs time.
import { systemClock } from '../../clock.ts';
import { livePriceBook } from '../../config.ts';
import { laneRoundMs } from './rules/submission.ts';
import { newId } from '../../ids.ts';
import { LeaseLostError } from '../../lease-keeper.ts';
import { createAnthropicBatches } from './anthropic-batches.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { HAS_LANE_WORK_SQL } from './store/submissions.ts';
import { leaveLane } from './store/store-results.ts';
import { workOff } from '../../work-off.ts';
import type { Rounds } from '../../kernel/queue/start-rounds.ts';
import { collectRequests } from './collect-requests.ts';
import { followSubmission } from './follow-submission.ts';
import { createProviderLaneMetrics, type LaneParts } from './lane-parts.ts';

/** The account of submissions to the scripted model. */
const SCRIPTED_ACCOUNT = 'scripted';
/** The most steps of one kind in a round. */
const STEPS_MAX = 50;

/** Opens it. */
export function openProviderLane({ service, logger, modelEndpoint, metrics }: Process): ProcessPart {
  const { database, publish, config } = service;
  const { headers } = config.models.providers.anthropic;
  const { isScripted, ...address } = modelEndpoint;
  const parts: LaneParts = {
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
    ...(metrics === null ? {} : { metrics: createProviderLaneMetrics(metrics) }),
    owner: newId<string>(),
    // A submission is leased like a session.
    leaseMs: config.runtime.leaseMs,
    clock: systemClock,
  };
  return { rounds: [laneRounds(parts)] };
}

/** The rounds of a lane. */
export function laneRounds(parts: LaneParts): Omit<Rounds, 'database'> {
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
  const { owner, port } = parts;
  const work = { sql: HAS_LANE_WORK_SQL, values: () => ({ owner, account: port.account }) };
  return { work, round: (signal) => runLaneRound(parts, signal), failure, pauseMs };
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
