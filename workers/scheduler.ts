// The scheduler: starts work that is due at a time. Any number can run on one database; each checks once a second, and when
// the next item is known to become due. The database decides what is due, what time it is and which scheduler fires it (G8, G20): a
// scheduler with a wrong clock checks at other times and fires nothing early.
//
//   tick ──▶ round: fire crons ▶ make polls ▶ settle fires ▶ deliver messages ▶ (now and then) retire, notices, trimming ──▶ the next known time
//
// node-cron provides the tick. A tick does not interrupt a round in progress; another round follows it.
import type { ScheduledTask } from 'node-cron';
import { newId } from '../src/ids.ts';
import type { Logger } from '../src/logger.ts';
import type { Service } from '../src/kernel/use-cases/service.ts';
import { deliverDue } from '../src/kernel/use-cases/deliver-delayed.ts';
import { releaseReservations } from '../src/features/budgets/store/release-reservations.ts';
import { settleLeftCosts } from '../src/features/budgets/store/settle-costs.ts';
import { wakeBudgetWaiters } from '../src/features/budgets/store/wake-waiters.ts';
import { readDatabaseTime, readDueCrons } from '../src/features/crons/store/crons.ts';
import { nextPollInMs, renewPolls, trimPolls } from '../src/features/heartbeats/store/heartbeats.ts';
import { retireCrons, trimFires } from '../src/features/crons/store/settle-fires.ts';
import { reconcileConfigCrons } from '../src/features/crons/config-crons.ts';
import { fireDueCrons, giveNotices, settleEndedFires } from '../src/features/crons/schedule-crons.ts';
import type { ScheduleMeter } from './process-metrics.ts';
import {
  hasHeartbeats,
  makeDuePolls,
  syncHeartbeats,
  type HeartbeatParts,
} from '../src/features/heartbeats/schedule-heartbeats.ts';

export interface SchedulerOptions {
  service: Service;
  logger: Logger;
  /** Absent: nothing counts. */
  meter?: ScheduleMeter | undefined;
}

/** Every second, on the second, so that slots on a full second fire without delay. */
const BEAT = '* * * * * *';
const BEAT_MS = 1_000;
/** How long after a deadline the next round starts, in milliseconds. */
const AFTER_MOMENT_MS = 2;
/** Crons that are fired in one go. */
const DUE_MAX = 100;
/** Rounds for crons with many due slots, before polls continue. */
const GOES_MAX = 50;
const TIDY_MS = 5_000;
const TRIM_MS = 3_600_000;

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #parts: HeartbeatParts;
  readonly #stopped = new AbortController();
  #beating: Promise<void> = Promise.resolve();
  #beat: ScheduledTask | null = null;
  #moment: NodeJS.Timeout | null = null;
  #round: Promise<void> | null = null;
  #isWanted = false;
  #isSynced = false;
  #tidiedAtMs = Number.NEGATIVE_INFINITY;
  #trimmedAtMs = performance.now();

  constructor(options: SchedulerOptions) {
    const { service, logger, meter } = options;
    this.#options = options;
    this.#parts = { ...service, logger, meter, owner: newId<string>(), signal: this.#stopped.signal };
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
    this.#isSynced = false;
    this.#check();
  }

  async #beatEverySecond(): Promise<void> {
    const { default: cron } = await import('node-cron');
    if (this.#stopped.signal.aborted) return;
    const { logger } = this.#parts;
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
    const { database, owner, logger } = this.#parts;
    await renewPolls(database, { owner, leaseMs: 0 }).catch((error: unknown) =>
      logger.debug({ err: error }, 'Leases of heartbeat polls could not be released'),
    );
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
      try {
        this.#checkAgainIn(await this.#doRound());
      } catch (error) {
        this.#parts.database.outages.report(error, 'Scheduler round failed; the next round retries');
      }
    }
  }

  /** One round; resolves with the milliseconds until the next deadline, or null when none is known. */
  async #doRound(): Promise<number | null> {
    const { config, database, budgets } = this.#parts;
    if (!this.#isSynced) await this.#sync();
    const { nowMs, nextInMs } = await this.#fireAll();
    const pollInMs = hasHeartbeats(config) || this.#isTidyDue() ? await this.#makePolls() : null;
    await settleEndedFires(this.#parts, nowMs);
    if (this.#isTidyDue()) {
      this.#tidiedAtMs = performance.now();
      await retireCrons(database);
      if (budgets.wasInUse) await this.#tidyBudgets();
      await giveNotices(this.#parts);
    }
    await this.#trim();
    const delayedInMs = await deliverDue(this.#options.service);
    const moments = [nextInMs, pollInMs, delayedInMs].filter((inMs) => inMs !== null);
    return moments.length === 0 ? null : Math.min(...moments);
  }

  async #tidyBudgets(): Promise<void> {
    const { database, publish } = this.#parts;
    await settleLeftCosts(database);
    while (!this.#stopped.signal.aborted && (await releaseReservations(database)));
    publish(await wakeBudgetWaiters(database));
  }

  async #sync(): Promise<void> {
    // First, because the configuration may be read again meanwhile.
    this.#isSynced = true;
    try {
      await this.#syncAll();
    } catch (error) {
      this.#isSynced = false;
      throw error;
    }
  }

  async #syncAll(): Promise<void> {
    const nowMs = await readDatabaseTime(this.#parts.database);
    await reconcileConfigCrons(this.#parts, nowMs);
    await syncHeartbeats(this.#parts, nowMs);
  }

  async #fireAll(): Promise<{ nowMs: number; nextInMs: number | null }> {
    const { config, database } = this.#parts;
    for (let go = 1; ; go += 1) {
      const { due, nowMs, nextInMs } = await readDueCrons(database, config.cron.enabled ? DUE_MAX : 0);
      const hasMore = await fireDueCrons(this.#parts, due, nowMs);
      if ((!hasMore && due.length < DUE_MAX) || go >= GOES_MAX || this.#stopped.signal.aborted) {
        return { nowMs, nextInMs: config.cron.enabled ? nextInMs : null };
      }
    }
  }

  async #makePolls(): Promise<number | null> {
    await makeDuePolls(this.#parts);
    return await nextPollInMs(this.#parts.database);
  }

  async #trim(): Promise<void> {
    if (performance.now() - this.#trimmedAtMs < TRIM_MS) return;
    this.#trimmedAtMs = performance.now();
    const { config, database } = this.#parts;
    while (!this.#stopped.signal.aborted && (await trimFires(database)));
    while (!this.#stopped.signal.aborted && (await trimPolls(database, config.events.retention)));
  }

  #isTidyDue(): boolean {
    return performance.now() - this.#tidiedAtMs >= TIDY_MS;
  }

  /** Anything later than the next tick is found by a tick. */
  #checkAgainIn(inMs: number | null): void {
    if (this.#moment !== null) clearTimeout(this.#moment);
    this.#moment = null;
    if (inMs === null || inMs > BEAT_MS || this.#stopped.signal.aborted) return;
    this.#moment = setTimeout(() => this.#check(), inMs + AFTER_MOMENT_MS);
  }
}
