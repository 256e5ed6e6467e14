// The places of a lane, for jobs of its queue and for work that is brought to it in the same process. What is brought must never come
// before what waits in the queue, and nobody here knows what waits there; so it gets a place only when there are some to spare and
// none was wanted in vain for a while (G27).

/** For so long after a place was wanted in vain, all work goes through the queue. */
const JOBS_ONLY_MS = 1_000;

export class Places {
  readonly #count: number;
  readonly #nowMs: () => number;
  readonly #waiting: (() => void)[] = [];
  #jobs = 0;
  #wantedAtMs = Number.NEGATIVE_INFINITY;
  taken = 0;

  /** `nowMs` is a clock that never goes back. */
  constructor(count: number, nowMs: () => number) {
    this.#count = count;
    this.#nowMs = nowMs;
  }

  /** Takes a place for a job, as soon as there is one. */
  async takeForJob(): Promise<void> {
    if (this.taken < this.#count) this.taken += 1;
    else {
      this.#wantedAtMs = this.#nowMs();
      // Whoever leaves hands the place on: it stays taken.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#jobs += 1;
  }

  /** Takes a place for a job that comes without its queue; false when none is free. It is left as a job. */
  takeFree(): boolean {
    if (this.taken >= this.#count) return false;
    this.taken += 1;
    this.#jobs += 1;
    return true;
  }

  get free(): number {
    return Math.max(0, this.#count - this.taken);
  }

  /** Takes a place for what is brought, unless somebody waits for one or may have lately. */
  takeForBrought(): boolean {
    const nowMs = this.#nowMs();
    const isFull = this.taken >= this.#count;
    // It will be a job instead.
    if (isFull) this.#wantedAtMs = nowMs;
    if (isFull || nowMs - this.#wantedAtMs < JOBS_ONLY_MS) return false;
    this.taken += 1;
    return true;
  }

  leaveAsJob(): void {
    // While jobs fill all places, the queue may hold more of them.
    if (this.taken >= this.#count) this.#wantedAtMs = this.#nowMs();
    this.#jobs -= 1;
    this.#handOn();
  }

  leaveAsBrought(): void {
    if (this.taken >= this.#count && this.#jobs > 0) this.#wantedAtMs = this.#nowMs();
    this.#handOn();
  }

  #handOn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.taken -= 1;
    else next();
  }
}
