// The provider lane of a process: it submits queued requests, follows submissions to their end, and takes requests out whose deadline is near.
// Any number may run against one database: each submission is leased to one of them. All state is in the database, so a round that is lost
// costs time.
import { LeaseLostError, type LaneParts } from './lane-parts.ts';
import { collectRequests } from './collect-requests.ts';
import { followSubmission } from './follow-submission.ts';
import { laneRoundMs } from '../../src/core/provider-batch/poll-schedule.ts';
import { leaveLane } from '../../src/store/provider-lane/leave-lane.ts';

/** The most steps of one kind in a round. */
const STEPS_MAX = 50;

export class ProviderLane {
  readonly #parts: LaneParts;
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(parts: LaneParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#schedule(0);
  }

  /** Begins nothing new, and resolves when the step in progress has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#round;
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#round = this.#work();
    }, delayMs);
  }

  async #work(): Promise<void> {
    const { database, publish, logger } = this.#parts;
    try {
      await this.#repeat(async () => {
        const { moved } = publish(await leaveLane(database));
        this.#parts.metrics?.settled('left', moved);
        return moved > 0;
      });
      await this.#repeat(() => collectRequests(this.#parts));
      await this.#repeat(() => followSubmission(this.#parts));
    } catch (error) {
      if (error instanceof LeaseLostError) logger.warn({ err: error }, 'Submission was not sent');
      else database.outages.report(error, 'Round of the provider lane failed; the next round retries');
    }
    this.#schedule(laneRoundMs(this.#parts.config.batches));
  }

  async #repeat(step: () => Promise<boolean>): Promise<void> {
    for (let steps = 0; steps < STEPS_MAX && !this.#isStopped; steps += 1) {
      if (!(await step())) return;
    }
  }
}
