// A batch whose model is asked through batches of the provider: rounds of the feeder, of the lane
// and of the turns happen when a test asks for them.
import { budgetBookOf } from '../../../src/features/budgets/rounds.ts';
import { expect } from 'vitest';
import { wakeBudgetWaiters } from '../../../src/features/budgets/store/reservations.ts';
import { collectRequests } from '../../../src/features/provider-batches/collect-requests.ts';
import { followSubmission } from '../../../src/features/provider-batches/follow-submission.ts';
import type { LaneParts } from '../../../src/features/provider-batches/lane-parts.ts';
import type { ApiRig } from '../../api/api-rig.ts';
import { readDueSessions } from '../../rows/doorbells.ts';
import { laneParts, QUICK } from '../provider-batches/lane-rig.ts';
import { batchRig } from './batch-rig.ts';

/** Makes it around an API rig. */
export function laneBatchRig(rig: ApiRig) {
  const { turns, context } = rig;
  const batches = batchRig(rig);
  const worker = turns.worker();

  const { publish } = context.service;
  const lanePartsOf = (more: Partial<LaneParts> = {}): LaneParts =>
    laneParts(turns, { publish, config: { ...turns.config, batches: QUICK }, ...more });

  /** Runs the turns of every session that is due. */
  async function runDue(): Promise<void> {
    for (const sessionId of await readDueSessions(rig)) await worker.runSession(sessionId);
  }

  /**
   * Rounds of all of them until the batch has ended, or until this many of its items were answered.
   */
  async function runByLane(
    id: string,
    { lane = lanePartsOf(), answered = Infinity }: { lane?: LaneParts; answered?: number } = {},
  ) {
    const isDone = async (): Promise<boolean> => {
      for (const process of [context.service, turns]) await budgetBookOf(process).read();
      await batches.round();
      publish(await wakeBudgetWaiters(turns.database));
      await runDue();
      await collectRequests(lane);
      await followSubmission(lane);
      const { status, counts } = await batches.show(id);
      return status === 'ended' || counts.answered >= answered;
    };
    await expect.poll(isDone, { interval: 1, timeout: 1_500_000 }).toBe(true);
    return await batches.show(id);
  }

  return { ...batches, laneParts: lanePartsOf, runDue, runByLane };
}
