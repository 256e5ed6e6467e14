// The bulk actions' part of a scheduler: takes items under a lease, carries them out one by one, and settles them together. Any number of
// schedulers work on the same actions. While there is nothing to do, the rounds become rarer.
import type { Logger } from '../src/logger.ts';
import { carryOut } from '../src/service/bulk-action.ts';
import type { Service } from '../src/service/service.ts';
import { judgeCanaries, trimBulkActions } from '../src/store/bulk/bulk-actions.ts';
import { leaseBulkItems, settleBulkItems, type SettledItem } from '../src/store/bulk/bulk-items.ts';
import { isPassingFault } from '../src/store/database.ts';
import { pause } from './pause.ts';

/** Between two rounds while there is something to do, and while there is nothing. */
const ROUND_MS_MIN = 10;
const ROUND_MS_MAX = 1_000;
/** How long the items of a round may take before another scheduler takes them, and how many they are. */
const LEASE_MS = 30_000;
const ITEMS_MAX = 20;
const TRIM_MS = 3_600_000;
const REASON_CHARS_MAX = 500;

export class BulkLoop {
  readonly #parts: Service & { logger: Logger };
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #trimmedAtMs = performance.now();

  constructor(parts: Service & { logger: Logger }) {
    this.#parts = parts;
  }

  /** Begins to look. */
  start(): void {
    this.#running = this.#run();
  }

  /** Begins no round any more and resolves when the one in progress has ended. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    let waitMs = ROUND_MS_MIN;
    while (!signal.aborted) {
      try {
        const hasWorked = await runBulkRound(this.#parts);
        await this.#trim();
        waitMs = hasWorked ? ROUND_MS_MIN : Math.min(waitMs * 2, ROUND_MS_MAX);
      } catch (error) {
        waitMs = ROUND_MS_MAX;
        this.#parts.database.outages.report(error, 'Round of bulk actions failed; the next round retries');
      }
      await pause(waitMs, signal);
    }
  }

  async #trim(): Promise<void> {
    if (performance.now() - this.#trimmedAtMs < TRIM_MS) return;
    this.#trimmedAtMs = performance.now();
    const { config, database } = this.#parts;
    while (!this.#stopped.signal.aborted && (await trimBulkActions(database, config.batches.retention)));
  }
}

/** One round. True when there was something to do. */
export async function runBulkRound(parts: Service & { logger: Logger }): Promise<boolean> {
  const { database, logger } = parts;
  const items = await leaseBulkItems(database, { itemsMax: ITEMS_MAX, leaseMs: LEASE_MS });
  const settled: SettledItem[] = [];
  try {
    for (const item of items) {
      settled.push(
        await carryOut(parts, item).catch((error: unknown) => {
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
    // After a fault, too: what was carried out need not be looked at again.
    if (settled.length > 0) await settleBulkItems(database, settled);
  }
  const judged = await judgeCanaries(database);
  return items.length > 0 || judged > 0;
}

function failed({ actionId, n }: { actionId: string; n: number }, error: unknown): SettledItem {
  const text = error instanceof Error ? error.message : String(error);
  return { actionId, n, status: 'failed', reason: text.slice(0, REASON_CHARS_MAX), messageIds: null };
}
