// The round of batches: writes the ends of items, closes what will not be fed, carries out what the
// guards decide, and gives every running batch what its concurrency has room for. Everything
// follows from rows, so any number of schedulers may do it, and what a crash leaves out the next
// round does.
import { budgetBookOf } from '../budgets/rounds.ts';
import { priceBookOf } from '../../config.ts';
import { parseKeyName } from '../../core/key-role.ts';
import { budgetName } from '../budgets/rules/budget.ts';
import { batchSessionKey, inputOfItem } from './rules/batch.ts';
import { judgeBatch, type BatchVerdict } from './rules/judge-batch.ts';
import { shareRoom } from './rules/share-room.ts';
import type { DeliveryId, MessageId } from '../../core/ids.ts';
import { chooseRoute } from '../../core/inbound.ts';
import { readOptions, withOptions } from '../../core/input-options.ts';
import { refOfModel } from '../../core/models.ts';
import { priceAt } from '../../core/prices.ts';
import { chooseWay } from './rules/choose-way.ts';
import { canonicalSessionKey } from '../../core/session-key.ts';
import { newId } from '../../ids.ts';
import type { Logger } from '../../logger.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { abortRun } from '../../kernel/effects/control.ts';
import { cancelMessage } from '../../kernel/inbox/cancel-message.ts';
import { stopTurn } from '../../kernel/use-cases/operate-service.ts';
import { closeItems, readWorkToStop, settleCharged, settleItems } from './store/settle.ts';
import { feedBatch, readHungryBatches, readReadyItems, type FedItem, type HungryBatch } from './store/feed.ts';
import {
  endBatch,
  HAS_OPEN_WORK_SQL,
  passPilot,
  readMeasuredRounds,
  readOpenBatches,
  setWay,
  type EndReport,
  type JudgedBatch,
} from './store/guard.ts';
import { confineRoots } from '../../kernel/sessions/confinement.ts';
import { buildNewSession } from '../../kernel/sessions/sessions.ts';
import type { Tracing } from '../../tracing.ts';
import { workOff } from '../../work-off.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { OFTEN, trims } from '../../kernel/queue/start-rounds.ts';
import { pauseBatch, resumeForGuard, trimBatches } from './store/control.ts';

/** The reason of the ends of runs. */
const CANCELLED = 'The batch was cancelled.';

export interface BatchParts extends Service {
  logger: Logger;
  /** Absent: nothing is traced. */
  tracing?: Tracing | undefined;
}

/** One round: ended items are settled, which makes room for more. True when something changed. */
export async function runBatchRound(parts: BatchParts, signal: AbortSignal): Promise<boolean> {
  const { database, publish } = parts;
  let hasChanged = false;
  for (const settle of [settleItems, settleCharged]) {
    await workOff(
      async () => {
        const { ended, hasMore } = await settle(database);
        hasChanged ||= ended > 0;
        return hasMore;
      },
      { signal },
    );
  }
  const open = await readOpenBatches(database);
  if (open.length === 0) return hasChanged;
  if (open.some(({ status, isOverdue }) => isOverdue || status === 'cancelling')) {
    await workOff(
      async () => {
        const closed = await closeItems(database);
        // Their batch may end in the next round.
        hasChanged ||= closed > 0;
        return closed > 0;
      },
      { signal },
    );
    const { runs, messageIds, turnIds } = await readWorkToStop(database);
    for (const run of runs) publish(await abortRun(parts, { ...run, reason: CANCELLED, isOwn: true }));
    for (const id of messageIds) {
      // If a worker has claimed its session, the next rounds stop the turn.
      const { kind } = publish(await cancelMessage(database, { id, reason: CANCELLED, idempotency: null }));
      hasChanged ||= kind === 'done';
    }
    for (const turnId of turnIds) await stopTurn(parts, turnId, null);
    hasChanged ||= runs.length > 0 || turnIds.length > 0;
  }
  for (const batch of open) {
    const verdict = judgeBatch({ ...batch, budget: nameBudget(parts, batch) });
    if (verdict.kind === 'continue' || signal.aborted) continue;
    await carryOut(parts, batch, verdict);
    hasChanged = true;
  }
  return (await feedBatches(parts, signal)) > 0 || hasChanged;
}

/** The name of the budget that holds a batch back; null: none. */
function nameBudget(parts: BatchParts, { id, agentId, createdBy }: JudgedBatch): string | null {
  const reached = budgetBookOf(parts).reached({
    agentId,
    sessionKey: batchSessionKey(id, agentId),
    keyName: parseKeyName(createdBy),
    batchId: null,
  });
  return reached === null ? null : budgetName(reached);
}

async function carryOut(parts: BatchParts, batch: JudgedBatch, verdict: BatchVerdict): Promise<void> {
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
      const report = await toReport(parts, batch, verdict.outcome);
      const { isEnded } = publish(await endBatch(database, batch, { outcome: verdict.outcome, report }));
      if (isEnded) tracing?.batchEnded(batch.id);
      return;
    }
    default:
      verdict satisfies never;
  }
}

/**
 * The signed report of the end, if the batch asks for one: it is delivered in a separate session.
 */
async function toReport({ config, inbox }: BatchParts, batch: JudgedBatch, outcome: string): Promise<EndReport | null> {
  const { id, agentId, name, deliver, itemCount, answered, silent, failed, cancelled, expired, costMicros } = batch;
  if (deliver === null) return null;
  const sessionKey = batchSessionKey(id, agentId);
  const title = name === null ? `Batch ${id}` : `Batch ${name}`;
  return {
    id: newId<DeliveryId>(),
    sessionId: await inbox.ensureSession(buildNewSession(sessionKey)),
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

/** Items of one statement. */
const HELPING_MAX = 32;
/** Items of a batch of weight 1 before the next batch is fed. */
const ITEMS_PER_WEIGHT = 8;
/** Items of one round. */
const ROUND_MAX = 512;

/** Feeds the batches that have room; resolves with how many items were fed. */
export async function feedBatches(
  parts: Pick<Service, 'config' | 'database' | 'inbox' | 'publish'>,
  signal: AbortSignal,
): Promise<number> {
  const hungry = new Map((await readHungryBatches(parts.database)).map((batch) => [batch.id, batch]));
  const helpings = shareRoom([...hungry.values()], {
    itemsPerWeight: ITEMS_PER_WEIGHT,
    itemsMax: HELPING_MAX,
    roundMax: ROUND_MAX,
  });
  let fed = 0;
  for (const { id, items } of helpings) {
    const batch = hungry.get(id);
    if (batch === undefined || signal.aborted) continue;
    const count = await feed(parts, batch, items);
    if (count < items) hungry.delete(id);
    fed += count;
  }
  return fed;
}

async function feed(
  { config, database, inbox, publish }: Pick<Service, 'config' | 'database' | 'inbox' | 'publish'>,
  batch: HungryBatch,
  limit: number,
): Promise<number> {
  const ready = await readReadyItems(database, batch, limit);
  if (ready.length === 0) return 0;
  const items = await Promise.all(
    ready.map(async ({ n, attempt, sessionKey, isOwnSession, body }): Promise<FedItem> => {
      const input = inputOfItem({ body, isOwnSession }, batch);
      return {
        n,
        attempt,
        sessionId: await inbox.ensureSession({
          ...buildNewSession(canonicalSessionKey(sessionKey)),
          root: isOwnSession ? batch.owner : null,
        }),
        messageId: newId<MessageId>(),
        body: JSON.stringify(input),
        route: chooseRoute({ ...body, ...withOptions(readOptions(input)) }, config.owner.ids),
      };
    }),
  );
  const confined = ready.filter(({ body }) => body.isConfined === true).map(({ sessionKey }) => sessionKey);
  if (confined.length > 0) await confineRoots(database, confined);
  return publish(await feedBatch(database, batch.id, items)).fed;
}

export function openBatchRounds({ service, logger, tracing }: Process): ProcessPart {
  const { database, config } = service;
  const parts = { ...service, logger, tracing };
  return {
    rounds: [
      {
        work: { sql: HAS_OPEN_WORK_SQL },
        round: (signal) => runBatchRound(parts, signal),
        pauseMs: OFTEN,
        failure: 'Round of batches failed; the next round retries',
      },
      trims('batches', () => trimBatches(database, config.batches.retention)),
    ],
  };
}
