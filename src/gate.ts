// Lets a limited number run at the same time; the others wait in a queue.

export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(size: number) {
    this.#free = size;
  }

  /** How many wait. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  /**
   * Runs when it is its turn; resolves or rejects as `run` does. The signal ends the wait, which
   * rejects with its reason.
   */
  async run<Result>(run: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    try {
      // It may have aborted since it was passed the turn.
      signal?.throwIfAborted();
      return await run();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  async #turn(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (): void => {
      const at = this.#waiting.indexOf(resolve);
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      reject(signal?.reason);
    };
    this.#waiting.push(resolve);
    signal?.addEventListener('abort', giveUp, { once: true });
    await promise.finally(() => signal?.removeEventListener('abort', giveUp));
  }
}
