// Bulk actions: the filter becomes a fixed list of ids when the action is submitted, and schedulers
// carry it out item by item.
import { canHaveCanary, changeableStatuses, type BulkTarget, type BulkVerb } from './rules.ts';
import { cutHead } from '../../core/text.ts';
import { newId } from '../../ids.ts';
import type { Logger } from '../../logger.ts';
import {
  createBulkAction,
  judgeCanaries,
  type NewBulkAction,
  buildBulkKey,
  leaseBulkItems,
  settleBulkItems,
  type LeasedItem,
  type SettledItem,
} from './store.ts';
import { cancelMessage } from '../../kernel/inbox/cancel-message.ts';
import { isPassingFault } from '../../database/passing-faults.ts';
import { isKeyTaken, readKey, type KeyedRequest } from '../../database/idempotency.ts';
import { listDeliveryIds, type DeliveryFilter } from '../deliveries/views.ts';
import { waitingMessageIds } from '../../kernel/views/messages.ts';
import { findAllTurnIds, type TurnFilter } from '../../kernel/views/turn-filter.ts';
import { decideDelivery } from '../deliveries/decide.ts';
import {
  discardLetters,
  done,
  readOpenLetters,
  redoTurn,
  redriveLetter,
  skipped,
  whyNotRetried,
  type ActionEnd,
} from '../dead-letters/letters.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { stopTurn } from '../../kernel/use-cases/operate-service.ts';

export { cancelBulkAction } from './store.ts';

/** The most things of one action. */
export const BULK_ITEMS_MAX = 100_000;

/** The objects of an action: ids, or the current matches of a filter. */
export type BulkSelection =
  | { target: BulkTarget; ids: readonly string[] }
  | { target: 'turns'; filter: TurnFilter }
  | { target: 'messages'; filter: { sessionKey?: string | undefined } }
  | { target: 'deliveries'; filter: DeliveryFilter }
  | { target: 'dead-letters'; filter: { kind?: string | undefined; code?: string | undefined } };

export interface BulkRequest extends Omit<NewBulkAction, 'id' | 'target' | 'ids'> {
  selection: BulkSelection;
}

/**
 * The ids that an action would be about, in the order of their age; one more than allowed when
 * there are too many. A filter finds only what the action can change.
 */
export async function selectBulkIds(
  { views, database }: Service,
  { action, selection }: Pick<BulkRequest, 'action' | 'selection'>,
): Promise<string[]> {
  if ('ids' in selection) return [...new Set(selection.ids)];
  const limit = BULK_ITEMS_MAX + 1;
  const { target, filter } = selection;
  const named = 'statuses' in filter ? filter.statuses : undefined;
  const statuses = changeableStatuses({ target, action }, named);
  if (statuses?.length === 0) return [];
  switch (selection.target) {
    case 'turns':
      return findAllTurnIds(views, { ...selection.filter, statuses, isRetryable: action === 'retry' }, limit);
    case 'messages':
      return waitingMessageIds(views, selection.filter, limit);
    case 'deliveries':
      return listDeliveryIds(views, { ...selection.filter, statuses }, limit);
    case 'dead-letters': {
      const { letters } = await readOpenLetters(database, selection.filter, limit);
      return letters.map(({ id }) => id);
    }
    default:
      return selection satisfies never;
  }
}

/** Submits an action with its ids; resolves with its id. Rejects as `createBulkAction` does. */
export async function submitBulkAction(
  { database }: Service,
  { selection: { target }, ...request }: BulkRequest,
  ids: readonly string[],
  idempotency: KeyedRequest | null,
): Promise<string> {
  const id = newId<string>();
  const isCanary = request.isCanary && canHaveCanary(request.action);
  await createBulkAction(database, { ...request, isCanary, target, id, ids }, idempotency);
  return id;
}

/**
 * How long the items of a round may take before another scheduler takes them, and how many they
 * are.
 */
const LEASE_MS = 30_000;
const ITEMS_MAX = 20;
const REASON_CHARS_MAX = 500;

/** One round. True when there was something to do. */
export async function runBulkRound(parts: Service & { logger: Logger }): Promise<boolean> {
  const { database, logger } = parts;
  const items = await leaseBulkItems(database, { itemsMax: ITEMS_MAX, leaseMs: LEASE_MS });
  const settled: SettledItem[] = [];
  try {
    for (const item of items) {
      settled.push(
        await carryOutItem(parts, item).catch((error: unknown) => {
          if (isPassingFault(error)) throw error;
          logger.error(
            { err: error, bulkActionId: item.actionId, subject: item.subject },
            'Item of a bulk action failed',
          );
          return failed(item, error);
        }),
      );
    }
  } finally {
    // After a fault, too: executed items need not be read again.
    if (settled.length > 0) await settleBulkItems(database, settled);
  }
  const judged = await judgeCanaries(database);
  return items.length > 0 || judged > 0;
}

function failed({ actionId, n }: { actionId: string; n: number }, error: unknown): SettledItem {
  const text = error instanceof Error ? error.message : String(error);
  return { actionId, n, status: 'failed', reason: cutHead(text, REASON_CHARS_MAX), messageIds: null };
}

/**
 * Carries an item out. Its effect is stored with a key, so after a crash between the effect and its
 * result the item is done, and not done again. Rejects with faults of the database; the item then
 * stays as it is.
 */
export async function carryOutItem(service: Service, item: LeasedItem): Promise<SettledItem> {
  const { actionId, n } = item;
  const idempotency = buildBulkKey(item);
  const end = await attempt(service, item, idempotency).catch((error: unknown) => {
    if (isKeyTaken(error)) return skipped('');
    throw error;
  });
  if (end.status === 'done') return { actionId, n, ...end };
  const earlier = await readKey(service.views, idempotency);
  if (earlier.kind !== 'done') return { actionId, n, ...end };
  const { messageIds = null } = earlier.result as { messageIds?: string[] | null };
  return { actionId, n, ...done(messageIds) };
}

async function attempt(service: Service, item: LeasedItem, idempotency: KeyedRequest): Promise<ActionEnd> {
  const { target, action, subject } = item;
  switch (target) {
    case 'turns':
      return action === 'abort' ? abort(service, subject, idempotency) : retry(service, subject, idempotency);
    case 'messages':
      return cancel(service, subject, idempotency);
    case 'deliveries':
      return decide(service, action, subject, idempotency);
    case 'dead-letters':
      return action === 'discard'
        ? discardLetter(service, subject, idempotency)
        : redrive(service, subject, idempotency);
    default:
      return target satisfies never;
  }
}

async function retry(service: Service, turnId: string, idempotency: KeyedRequest): Promise<ActionEnd> {
  const result = await redoTurn(service, turnId, { idempotency });
  return result.kind === 'ok' ? done(result.messageIds) : skipped(whyNotRetried(result));
}

async function abort(service: Service, turnId: string, idempotency: KeyedRequest): Promise<ActionEnd> {
  const result = await stopTurn(service, turnId, idempotency);
  if (result === 'stopped') return done();
  return skipped(result === 'ended' ? 'The turn has ended.' : 'The turn does not exist.');
}

async function cancel({ database, publish }: Service, id: string, idempotency: KeyedRequest): Promise<ActionEnd> {
  const reason = 'Cancelled by a bulk action before a turn claimed it.';
  const result = publish(await cancelMessage(database, { id, reason, idempotency }));
  switch (result.kind) {
    case 'done':
      return done();
    case 'unknown':
      return skipped('The message does not exist.');
    case 'taken':
      return skipped('A worker may be claiming it for a turn. Cancel it again, or abort the turn.');
    case 'settled':
      return skipped(`The message is ${result.status}.`);
    default:
      return result satisfies never;
  }
}

async function decide(service: Service, action: BulkVerb, id: string, idempotency: KeyedRequest): Promise<ActionEnd> {
  const decision = action === 'redrive' ? 'redrive' : 'discard';
  const result = await decideDelivery(service, id, { decision, idempotency });
  if (result === 'done') return done();
  return skipped(
    result === 'unknown' ? 'The delivery does not exist.' : `The status of the delivery does not allow ${action}.`,
  );
}

async function redrive(service: Service, id: string, idempotency: KeyedRequest): Promise<ActionEnd> {
  const { letters } = await readOpenLetters(service.database, { ids: [id] }, 1);
  const [letter] = letters;
  return letter === undefined ? skipped('The letter is no longer open.') : redriveLetter(service, letter, idempotency);
}

async function discardLetter({ database }: Service, id: string, idempotency: KeyedRequest): Promise<ActionEnd> {
  const count = await discardLetters(database, { ids: [id] }, idempotency);
  return count === 1 ? done() : skipped('The letter is no longer open.');
}
