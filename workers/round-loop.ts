// Work that a scheduler does in its own rounds, because it comes up much more often than the scheduler ticks. While there is no work, the rounds
// become rarer.
import { pause } from './pause.ts';

export interface RoundLoopOptions {
  /** One round; true: there was work, and the next round follows immediately. */
  round: (signal: AbortSignal) => Promise<boolean>;
  /** Deletes some old rows; true: there may be more. */
  trim: () => Promise<boolean>;
  trimEveryMs: number;
  /** Called when a round has failed; the next one follows. Must not throw. */
  onFault: (error: unknown) => void;
}

/** Between two rounds while there is something to do, and while there is nothing. */
const ROUND_MS_MIN = 10;
const ROUND_MS_MAX = 1_000;

export class RoundLoop {
  readonly #options: RoundLoopOptions;
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #trimmedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: RoundLoopOptions) {
    this.#options = options;
  }

  /** Starts the rounds. */
  start(): void {
    this.#running = this.#run();
  }

  /** Begins no round any more and resolves when the one in progress has ended. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { round, onFault } = this.#options;
    const { signal } = this.#stopped;
    let waitMs = ROUND_MS_MIN;
    while (!signal.aborted) {
      try {
        const hasWorked = await round(signal);
        await this.#trim();
        waitMs = hasWorked ? ROUND_MS_MIN : Math.min(waitMs * 2, ROUND_MS_MAX);
      } catch (error) {
        waitMs = ROUND_MS_MAX;
        onFault(error);
      }
      await pause(waitMs, signal);
    }
  }

  async #trim(): Promise<void> {
    const { trim, trimEveryMs } = this.#options;
    if (performance.now() - this.#trimmedAtMs < trimEveryMs) return;
    this.#trimmedAtMs = performance.now();
    while (!this.#stopped.signal.aborted && (await trim()));
  }
}
