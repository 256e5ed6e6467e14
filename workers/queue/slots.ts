// The slots of a lane: how many turns it runs at the same time. Jobs of its queue wait for a slot; a session that is checked while the
// queue cannot be reached takes one only if it is free.

export class Slots {
  readonly #count: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  /** `count`: at least 1. */
  constructor(count: number) {
    this.#count = count;
  }

  get taken(): number {
    return this.#taken;
  }

  get free(): number {
    return this.#count - this.#taken;
  }

  /** Takes a slot, as soon as there is one; in the order of the calls. */
  async take(): Promise<void> {
    if (this.tryTake()) return;
    // A released slot passes to the first job that waits, so it stays in use.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Takes a slot now; false when none is free. */
  tryTake(): boolean {
    if (this.#taken >= this.#count) return false;
    this.#taken += 1;
    return true;
  }

  /** Gives a slot back. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken -= 1;
    else next();
  }
}
