// The ends of batches: writes the ends of items, closes what will not be fed, and carries out what the guards decide. Everything follows from
// rows, so any number of schedulers may do it, and what a crash leaves out the next round does.
import { priceBookOf } from '../src/config.ts';
import { budgetName, keyNameOf } from '../src/core/budget/budget.ts';
import { batchSessionKey } from '../src/core/batch/batch.ts';
import { judgeBatch, type BatchVerdict } from '../src/core/batch/judge-batch.ts';
import { refOfModel } from '../src/core/model-ref.ts';
import { priceAt } from '../src/core/prices/price-table.ts';
import { chooseWay } from '../src/core/provider-batch/choose-way.ts';
import type { DeliveryId } from '../src/core/ids.ts';
import { newId } from '../src/ids.ts';
import type { Logger } from '../src/logger.ts';
import type { Service } from '../src/service/service.ts';
import { stopRun, stopTurn } from '../src/service/stop-session.ts';
import { closeItems, readRunsToStop, readTurnsToStop, withdrawInputs } from '../src/store/batches/close-items.ts';
import type { Tracing } from '../src/tracing.ts';
import {
  endBatch,
  passPilot,
  readMeasuredRounds,
  setWay,
  pauseBatch,
  resumeForGuard,
  readOpenBatches,
  type EndReport,
  type JudgedBatch,
} from '../src/store/batches/guard.ts';
import { settleCharged, settleItems } from '../src/store/batches/settle.ts';
import { newSessionOf } from '../src/store/sessions.ts';

/** The reason of the ends of runs. */
const CANCELLED = 'The batch was cancelled.';

export interface SettlerParts extends Service {
  logger: Logger;
  /** Absent: nothing is traced. */
  tracing?: Tracing | undefined;
}

/** Settles ended items; true when something changed. */
export async function settleBatches(parts: SettlerParts, signal: AbortSignal): Promise<boolean> {
  const { database, publish } = parts;
  let hasChanged = false;
  for (const settle of [settleItems, settleCharged]) {
    let settled = await settle(database);
    hasChanged ||= settled.ended > 0;
    while (settled.hasMore && !signal.aborted) settled = await settle(database);
  }
  const open = await readOpenBatches(database);
  if (open.some(({ status, isOverdue }) => isOverdue || status === 'cancelling')) {
    while (!signal.aborted && (await closeItems(database)));
    for (const runId of await readRunsToStop(database))
      await stopRun(parts, { runId, reason: CANCELLED, isTold: true });
    publish(await withdrawInputs(database));
    for (const turnId of await readTurnsToStop(database)) await stopTurn(parts, turnId, null);
    hasChanged = true;
  }
  for (const batch of open) {
    const verdict = judgeBatch({ ...batch, budget: budgetOf(parts, batch) });
    if (verdict.kind === 'continue' || signal.aborted) continue;
    await carryOut(parts, batch, verdict);
    hasChanged = true;
  }
  return hasChanged;
}

/** The name of the budget that holds a batch back; null: none. */
function budgetOf({ budgets }: SettlerParts, { id, agentId, createdBy }: JudgedBatch): string | null {
  const reached = budgets.reached({
    agentId,
    sessionKey: batchSessionKey(id, agentId),
    keyName: keyNameOf(createdBy),
    batchId: null,
  });
  return reached === null ? null : budgetName(reached);
}

async function carryOut(parts: SettlerParts, batch: JudgedBatch, verdict: BatchVerdict): Promise<void> {
  const { config, database, publish, logger, tracing } = parts;
  switch (verdict.kind) {
    case 'continue':
      return;
    case 'resume':
      await resumeForGuard(database, batch);
      return;
    case 'pilot_passed':
      await passPilot(database, batch);
      return;
    case 'probe':
      await setWay(database, batch, verdict);
      return;
    case 'choose_way': {
      const measured = await readMeasuredRounds(database, batch.id);
      if (measured === undefined) return;
      const { model, rounds, cache } = measured;
      const about = { model: refOfModel({ model: model ?? '' }), day: new Date().toISOString().slice(0, 10) };
      const price = priceAt(priceBookOf(config).table, about);
      await setWay(database, batch, { choice: chooseWay(rounds, { price, cache }) });
      return;
    }
    case 'pause':
      if (await pauseBatch(database, batch, verdict)) {
        logger.warn({ batchId: batch.id, reason: verdict.reason }, 'Batch was paused');
      }
      return;
    case 'end': {
      const report = await reportOf(parts, batch, verdict.outcome);
      const { isEnded } = publish(await endBatch(database, batch, { outcome: verdict.outcome, report }));
      if (isEnded) tracing?.batchEnded(batch.id);
      return;
    }
    default:
      verdict satisfies never;
  }
}

/** The signed report of the end, if the batch asks for one: it is delivered in a separate session. */
async function reportOf(
  { config, inbox }: SettlerParts,
  batch: JudgedBatch,
  outcome: string,
): Promise<EndReport | null> {
  const { id, agentId, name, deliver, itemCount, answered, silent, failed, cancelled, expired, costMicros } = batch;
  if (deliver === null) return null;
  const sessionKey = batchSessionKey(id, agentId);
  const title = name === null ? `Batch ${id}` : `Batch ${name}`;
  return {
    id: newId<DeliveryId>(),
    sessionId: await inbox.ensureSession(newSessionOf(sessionKey)),
    target: deliver,
    payload: {
      type: 'batch',
      sessionKey,
      turnId: null,
      messageIds: [],
      text: `${title} ended: ${outcome}. ${answered + silent} of ${itemCount} items were answered.`,
      batch: {
        id,
        name,
        outcome,
        counts: { total: itemCount, answered, silent, failed, cancelled, expired },
        costMicros,
      },
    },
    expiresMs: config.channels.webhook.expiresAfter,
  };
}
