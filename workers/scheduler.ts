// The scheduler: starts work that is due at a time. Any number can run on one database; each checks once a second, and when
// the next item is known to become due. The database decides what is due, what time it is and which scheduler fires it (G8, G20): a
// scheduler with a wrong clock checks at other times and fires nothing early.
//
//   tick ──▶ round: each schedule starts what is due (crons, polls) ▶ each settles what has ended ▶ deliver messages ──▶ the next known time
//
// node-cron provides the tick. A tick does not interrupt a round in progress; another round follows it.
import type { ScheduledTask } from 'node-cron';
import type { Logger } from '../src/logger.ts';
import type { ScheduleStep } from '../src/kernel/processes/process-part.ts';
import { deliverDue } from '../src/kernel/use-cases/deliver-delayed.ts';
import type { Service } from '../src/kernel/use-cases/service.ts';

export interface SchedulerOptions {
  service: Service;
  logger: Logger;
  /** What the features start by the clock, in their order. */
  schedules: readonly ScheduleStep[];
}

/** Every second, on the second, so that slots on a full second fire without delay. */
const BEAT = '* * * * * *';
const BEAT_MS = 1_000;
/** How long after a deadline the next round starts, in milliseconds. */
const AFTER_MOMENT_MS = 2;

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #stopped = new AbortController();
  #beating: Promise<void> = Promise.resolve();
  #beat: ScheduledTask | null = null;
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
    const { logger } = this.#options;
    this.#check();
    this.#beating = this.#beatEverySecond().catch((error: unknown) =>
      logger.error({ err: error }, 'Scheduler timer could not be started'),
    );
  }

  /** The configuration was reloaded: the next round applies it. */
  syncAgain(): void {
    for (const step of this.#options.schedules) this.#unsynced.add(step);
    this.#check();
  }

  async #beatEverySecond(): Promise<void> {
    const { default: cron } = await import('node-cron');
    if (this.#stopped.signal.aborted) return;
    const { logger } = this.#options;
    this.#beat = cron.schedule(BEAT, () => this.#check(), {
      name: 'holdfast-scheduler',
      timezone: 'UTC',
      suppressMissedWarning: true,
      logger: {
        info: (message) => logger.debug(message),
        warn: (message) => logger.debug(message),
        error: (message) => logger.warn({ err: message }, 'Scheduler timer failed'),
        debug: (message) => logger.trace(String(message)),
      },
    });
  }

  /** Claims nothing new and resolves when the round in progress has ended; any scheduler can take over its unfinished work. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#beating;
    await this.#beat?.destroy();
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

  /** One round; resolves with the milliseconds until the next deadline, or null when none is known. */
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

  /** Anything later than the next tick is found by a tick. */
  #checkAgainIn(inMs: number | null): void {
    if (this.#moment !== null) clearTimeout(this.#moment);
    this.#moment = null;
    if (inMs === null || inMs > BEAT_MS || this.#stopped.signal.aborted) return;
    this.#moment = setTimeout(() => this.#check(), inMs + AFTER_MOMENT_MS);
  }
}
