// The lock as a worker holds it. A `HeldSession` is a lease whose signal ends all work under it,
// for any reason; the `LockKeeper` keeps the leases of all sessions of its worker and checks
// whether one must stop; with it, it learns which models are blocked.
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { SessionId } from '../../core/ids.ts';
import type { Logger } from '../../logger.ts';
import type { Database } from '../../database/database.ts';
import type { ModelBlock } from '../queue/model-blocks.ts';
import { Lease, LeaseKeeper, type LeaseFacts, type LeaseLoss } from '../../lease-keeper.ts';
import { readWatch, renewLocks } from '../sessions/session-locks.ts';
import { TurnStopped, type StopReason } from './turn-stop.ts';

/** How often a worker checks whether its sessions must stop, in milliseconds. */
const WATCH_MS = 250;

export class HeldSession extends Lease {
  readonly sessionId: SessionId;
  readonly epoch: number;

  constructor({ sessionId, epoch, ...lease }: { sessionId: SessionId; epoch: number } & Omit<LeaseFacts, 'id'>) {
    super({ ...lease, id: sessionId });
    this.sessionId = sessionId;
    this.epoch = epoch;
  }

  /**
   * Ends everything under this lock for the given reason, which `assertHeld` then throws in a
   * `TurnStopped`. The first reason is kept.
   */
  stop(reason: StopReason): void {
    if (reason.kind === 'lock-lost') this.lose('refused');
    else this.end(new TurnStopped(reason));
  }

  /** Waits for this many milliseconds. Throws `TurnStopped` as soon as a stop is requested. */
  async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.signal }).catch(() => this.signal.throwIfAborted());
  }

  protected override reasonOf(loss: LeaseLoss): TurnStopped {
    return new TurnStopped({ kind: 'lock-lost', message: LOSSES[loss] });
  }
}

const LOSSES: Record<LeaseLoss, string> = {
  over: 'The lease ran out before it was renewed.',
  refused: 'Another worker holds the session.',
};

/** Stops all work under a lost lock; returns the error to throw. */
export function lockLost(held: HeldSession): TurnStopped {
  held.lose('refused');
  return new TurnStopped({ kind: 'lock-lost', message: LOSSES.refused });
}

export interface LockKeeperOptions {
  database: Database;
  clock: Clock;
  logger: Logger;
  owner: string;
  leaseMs: number;
  /**
   * Called with the models that are blocked, each time that the keeper has looked. Must not throw.
   */
  onBlocks: (blocks: readonly ModelBlock[]) => void;
}

export class LockKeeper {
  readonly owner: string;
  readonly leaseMs: number;
  readonly #options: LockKeeperOptions;
  readonly #leases: LeaseKeeper<HeldSession>;
  /** Sessions that this worker is busy with, from before their claim to after their end. */
  readonly #reserved = new Set<SessionId>();
  /** The reserved sessions for which another job came meanwhile. */
  readonly #turnedAway = new Set<SessionId>();
  #watchTimer: NodeJS.Timeout | undefined;
  #isWatching = false;

  constructor(options: LockKeeperOptions) {
    this.#options = options;
    this.owner = options.owner;
    this.leaseMs = options.leaseMs;
    const { database, clock, owner, leaseMs } = options;
    this.#leases = new LeaseKeeper({
      leaseMs,
      clock,
      of: 'sessions',
      outages: database.outages,
      renew: (held) => renewLocks(database, owner, leaseMs, held),
      // A call of a model that lasts longer than an outage of the database is not asked, and paid
      // for, again.
      runsOn: true,
    });
  }

  /** Starts to watch for stops; `stop` ends this, and the renewals. */
  start(): void {
    this.#watchTimer = setInterval(() => void this.#watch(), Math.min(WATCH_MS, this.leaseMs / 2));
  }

  stop(): void {
    this.#leases.stop();
    clearInterval(this.#watchTimer);
  }

  /**
   * Reserves a session in this worker; false when it is reserved already. A worker may claim again
   * what it holds, so without this a second job of the session would take it away from the first.
   */
  reserve(sessionId: SessionId): boolean {
    if (!this.#reserved.has(sessionId)) {
      this.#reserved.add(sessionId);
      return true;
    }
    this.#turnedAway.add(sessionId);
    return false;
  }

  /**
   * Ends a reservation, and the care for the session, whether or not this worker still holds its
   * lock.
   */
  unreserve(sessionId: SessionId): void {
    this.#reserved.delete(sessionId);
    this.#leases.drop(sessionId);
  }

  /**
   * True, once, when another job of the session arrived while it was reserved: its input may be
   * newer than the turn's last write.
   */
  takeTurnedAway(sessionId: SessionId): boolean {
    return this.#turnedAway.delete(sessionId);
  }

  /**
   * Takes a reserved session that was just claimed into care. `askedAtMs` is the monotonic time
   * from before the claim was sent.
   */
  hold(sessionId: SessionId, epoch: number, askedAtMs: number): HeldSession {
    const { clock, leaseMs } = this.#options;
    return this.#leases.keep(new HeldSession({ sessionId, epoch, clock, leaseMs, askedAtMs }));
  }

  /** Stops every turn for the same reason. */
  stopAll(reason: StopReason): void {
    for (const held of this.#leases.held) held.stop(reason);
  }

  /**
   * Reads the stops. One read at a time: on a slow database, more of them would take the
   * connections that renew the leases.
   */
  async #watch(): Promise<void> {
    const { held } = this.#leases;
    if (held.length === 0 || this.#isWatching) return;
    this.#isWatching = true;
    try {
      const { stops, blocks } = await readWatch(
        this.#options.database,
        held.map((one) => one.sessionId),
      );
      this.#options.onBlocks(blocks);
      for (const one of held) {
        const stop = stops.get(one.sessionId);
        if (stop !== undefined) one.stop(stop);
      }
    } catch (error) {
      this.#options.logger.debug({ err: error }, 'Abort requests could not be read');
    } finally {
      this.#isWatching = false;
    }
  }
}
