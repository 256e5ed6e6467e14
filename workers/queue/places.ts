// The slots of a lane, for jobs of its queue and for work that the same process passes to it directly. Direct work must never
// overtake jobs that wait in the queue, and the queue's backlog is not known here; so direct work gets a slot only when some are free
// and no request for one has failed recently (G27).

/** For so long after a request for a slot failed, all work goes through the queue. */
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
      // A leaving job passes its slot on: the slot stays taken.
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

  /** Takes a slot for direct work, unless a job waits for one or may have waited recently. */
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
