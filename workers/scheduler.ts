// The scheduler: starts work that is due at a time. Any number can run on one database; each asks
// once a second whether something is due soon, and checks when it is known to become due. The
// database decides what is due, what time it is and which scheduler fires it (G8, G20): a scheduler
// with a wrong clock checks at other times and fires nothing early.
//
//   work ──▶ round: each schedule starts what is due (crons, polls) ▶ each settles what has ended ▶ deliver messages ──▶ the next known time
//
// A question does not interrupt a round in progress; another round follows it.
import { DELAYED_WORK } from '../src/kernel/inbox/delayed-messages.ts';
import type { ScheduleStep } from '../src/kernel/process-part.ts';
import { anyOf, createWorkWatch, type WorkWatch } from '../src/kernel/queue/work-watch.ts';
import { deliverDue } from '../src/kernel/use-cases/deliver-delayed.ts';
import type { Service } from '../src/kernel/use-cases/service.ts';

export interface SchedulerOptions {
  service: Service;
  /** Asks whether there is work, for all rounds of the process. */
  watch?: WorkWatch;
  /** What the features start by the clock, in their order. */
  schedules: readonly ScheduleStep[];
}

/** How often it is asked whether something is due. */
const BEAT_MS = 1_000;
/** How long after a deadline the next round starts, in milliseconds. */
const AFTER_MOMENT_MS = 2;

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #stopped = new AbortController();
  #beating: Promise<void> = Promise.resolve();
  #moment: NodeJS.Timeout | null = null;
  #round: Promise<void> | null = null;
  #isWanted = false;
  /** The steps that have not applied the configuration as it is. */
  readonly #unsynced: Set<ScheduleStep>;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#unsynced = new Set(options.schedules);
  }

  /** Starts the rounds; the first one applies the configuration. Does not wait for it. */
  start(): void {
    this.#check();
    this.#beating = this.#checkWhatIsDue();
  }

  /** The configuration was reloaded: the next round applies it. */
  syncAgain(): void {
    for (const step of this.#options.schedules) this.#unsynced.add(step);
    this.#check();
  }

  async #checkWhatIsDue(): Promise<void> {
    const { service, schedules, watch = createWorkWatch(service.database) } = this.#options;
    const { signal } = this.#stopped;
    const ask = watch.add(anyOf([DELAYED_WORK, ...schedules.map(({ work }) => work ?? { sql: 'true' })]));
    while (!signal.aborted) {
      const hasWork = await this.#attempt(() => ask(BEAT_MS, signal));
      if (hasWork === true || this.#unsynced.size > 0) this.#check();
    }
  }

  /**
   * Claims nothing new and resolves when the round in progress has ended; any scheduler can take
   * over its unfinished work.
   */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#beating;
    if (this.#moment !== null) clearTimeout(this.#moment);
    await this.#round;
  }

  /** Starts a round now, or another one after the round in progress. */
  #check(): void {
    if (this.#stopped.signal.aborted) return;
    this.#isWanted = true;
    this.#round ??= this.#work().finally(() => (this.#round = null));
  }

  async #work(): Promise<void> {
    while (this.#isWanted && !this.#stopped.signal.aborted) {
      this.#isWanted = false;
      this.#checkAgainIn(await this.#doRound());
    }
  }

  /**
   * One round; resolves with the milliseconds until the next deadline, or null when none is known.
   */
  async #doRound(): Promise<number | null> {
    const { schedules, service } = this.#options;
    const moments: (number | null)[] = [];
    for (const step of schedules) moments.push(await this.#attempt(() => this.#start(step)));
    for (const step of schedules) await this.#attempt(async () => step.settle?.());
    moments.push(await this.#attempt(() => deliverDue(service)));
    const known = moments.filter((inMs) => inMs !== null);
    return known.length === 0 ? null : Math.min(...known);
  }

  /** Null: it has failed, which keeps nothing else of the round. */
  async #attempt<Result>(part: () => Promise<Result>): Promise<Result | null> {
    try {
      return await part();
    } catch (error) {
      this.#options.service.database.outages.report(error, 'Part of a scheduler round failed; the next round retries');
      return null;
    }
  }

  async #start(step: ScheduleStep): Promise<number | null> {
    // First, because the configuration may be read again meanwhile.
    if (this.#unsynced.delete(step)) {
      try {
        await step.sync();
      } catch (error) {
        this.#unsynced.add(step);
        throw error;
      }
    }
    return await step.start(this.#stopped.signal);
  }

  /** Anything later is asked for again. */
  #checkAgainIn(inMs: number | null): void {
    if (this.#moment !== null) clearTimeout(this.#moment);
    this.#moment = null;
    if (inMs === null || inMs > BEAT_MS || this.#stopped.signal.aborted) return;
    this.#moment = setTimeout(() => this.#check(), inMs + AFTER_MOMENT_MS);
  }
}
