// The batches' part of a scheduler: settles and feeds in rounds of its own, because items end much more often than clocks strike. While nothing
// happens the rounds become rarer.
import type { Logger } from '../src/logger.ts';
import type { Service } from '../src/service/service.ts';
import { trimBatches } from '../src/store/batches/control.ts';
import { feedBatches } from './feed-batches.ts';
import { pause } from './pause.ts';
import { settleBatches } from './settle-batches.ts';

/** Between two rounds while items end, and while nothing happens. */
const ROUND_MS_MIN = 10;
const ROUND_MS_MAX = 1_000;
const TRIM_MS = 60_000;

export class BatchLoop {
  readonly #parts: Service & { logger: Logger };
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #trimmedAtMs = Number.NEGATIVE_INFINITY;

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
        const hasChanged = await runBatchRound(this.#parts, signal);
        await this.#trim();
        waitMs = hasChanged ? ROUND_MS_MIN : Math.min(waitMs * 2, ROUND_MS_MAX);
      } catch (error) {
        waitMs = ROUND_MS_MAX;
        this.#parts.database.outages.report(error, 'Round of batches failed; the next round retries');
      }
      await pause(waitMs, signal);
    }
  }

  async #trim(): Promise<void> {
    if (performance.now() - this.#trimmedAtMs < TRIM_MS) return;
    this.#trimmedAtMs = performance.now();
    const { config, database } = this.#parts;
    while (!this.#stopped.signal.aborted && (await trimBatches(database, config.batches.retention)));
  }
}

/** One round: what has ended is settled, then there is room for more. True when something changed. */
export async function runBatchRound(parts: Service & { logger: Logger }, signal: AbortSignal): Promise<boolean> {
  const hasSettled = await settleBatches(parts, signal);
  const fed = await feedBatches(parts, signal);
  return hasSettled || fed > 0;
}
