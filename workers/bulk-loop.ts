// The bulk actions' part of a scheduler: takes items under a lease, carries them out one by one, and settles them together. Any number of
// schedulers work on the same actions.
import { headOf } from '../src/core/cut-text.ts';
import type { Logger } from '../src/logger.ts';
import { carryOutItem } from '../src/service/bulk-action.ts';
import type { Service } from '../src/service/service.ts';
import { judgeCanaries } from '../src/store/bulk/bulk-actions.ts';
import { leaseBulkItems, settleBulkItems, type SettledItem } from '../src/store/bulk/bulk-items.ts';
import { isPassingFault } from '../src/store/database.ts';
import { CLOSE_ROUNDS, startRounds } from './start-rounds.ts';

/** How long the items of a round may take before another scheduler takes them, and how many they are. */
const LEASE_MS = 30_000;
const ITEMS_MAX = 20;
const REASON_CHARS_MAX = 500;

/** Starts the rounds. Returns the function that ends them. */
export function startBulkLoop(parts: Service & { logger: Logger }): () => Promise<void> {
  return startRounds({
    database: parts.database,
    round: () => runBulkRound(parts),
    failure: 'Round of bulk actions failed; the next round retries',
    pauseMs: CLOSE_ROUNDS,
  });
}

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
  return { actionId, n, status: 'failed', reason: headOf(text, REASON_CHARS_MAX), messageIds: null };
}
