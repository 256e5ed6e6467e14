// The lock as a worker holds it. A `HeldSession` knows how long it may still trust its lease and carries the abort signal of all
// work under it; the `LockKeeper` renews the leases of all sessions of its worker together and checks whether one must stop; with it, it learns which models are blocked.
//
// The lease is measured with the monotonic clock from before the claim was sent, and trusted a margin shorter than the row says:
// a worker that was paused notices it itself before it starts anything (G7), with any wall clock (G8).
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { SessionId } from '../../core/ids.ts';
import type { Logger } from '../../logger.ts';
import type { Database } from '../../database/database.ts';
import type { ModelBlock } from '../queue/model-blocks.ts';
import { readWatch, renewLocks } from '../sessions/session-locks.ts';
import { TurnStopped, type StopReason } from './turn-stop.ts';

/** How often a worker checks whether its sessions must stop, in milliseconds. */
const WATCH_MS = 250;

/** After a renewal that failed, the longest until the next, in milliseconds. */
const RENEW_AGAIN_MS = 500;

export class HeldSession {
  readonly sessionId: SessionId;
  readonly epoch: number;
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  #trustedUntilMs: number;

  constructor(init: { sessionId: SessionId; epoch: number; clock: Clock; trustedUntilMs: number }) {
    this.sessionId = init.sessionId;
    this.epoch = init.epoch;
    this.#clock = init.clock;
    this.#trustedUntilMs = init.trustedUntilMs;
  }

  /** Aborts when the turn is to end early; its reason is a `TurnStopped`. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Throws `TurnStopped` unless the lease can be trusted and no stop was requested. Call it right before anything starts. */
  assertHeld(): void {
    if (!this.#abort.signal.aborted && this.#clock.monotonicMs() >= this.#trustedUntilMs) {
      this.stop({ kind: 'lock-lost', message: 'The lease ran out before it was renewed.' });
    }
    this.#abort.signal.throwIfAborted();
  }

  /** False when another worker may hold the session by now. */
  get isTrusted(): boolean {
    const { reason } = this.#abort.signal as { reason: unknown };
    if (reason instanceof TurnStopped && reason.reason.kind === 'lock-lost') return false;
    return this.#clock.monotonicMs() < this.#trustedUntilMs;
  }

  /** Ends everything under this lock for the given reason. The first reason is kept. */
  stop(reason: StopReason): void {
    this.#abort.abort(new TurnStopped(reason));
  }

  /** Waits for this many milliseconds. Throws `TurnStopped` as soon as a stop is requested. */
  async pause(ms: number): Promise<void> {
    const { signal } = this.#abort;
    await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
  }

  /** Called by the keeper after a renewal. */
  trustUntil(trustedUntilMs: number): void {
    this.#trustedUntilMs = trustedUntilMs;
  }
}

/** Stops all work under a lost lock; returns the error to throw. */
export function lockLost(held: HeldSession): TurnStopped {
  const reason = { kind: 'lock-lost', message: 'Another worker holds the session.' } as const;
  held.stop(reason);
  return new TurnStopped(reason);
}

export interface LockKeeperOptions {
  database: Database;
  clock: Clock;
  logger: Logger;
  owner: string;
  leaseMs: number;
  /** Called with the models that are blocked, each time that the keeper has looked. Must not throw. */
  onBlocks: (blocks: readonly ModelBlock[]) => void;
}

export class LockKeeper {
  readonly owner: string;
  readonly leaseMs: number;
  readonly #options: LockKeeperOptions;
  readonly #held = new Map<SessionId, HeldSession>();
  /** Sessions that this worker is busy with, from before their claim to after their end. */
  readonly #reserved = new Set<SessionId>();
  /** Those of them for which another job came meanwhile. */
  readonly #turnedAway = new Set<SessionId>();
  #renewTimer: NodeJS.Timeout | null = null;
  #watchTimer: NodeJS.Timeout | null = null;
  #retryTimer: NodeJS.Timeout | null = null;

  constructor(options: LockKeeperOptions) {
    this.#options = options;
    this.owner = options.owner;
    this.leaseMs = options.leaseMs;
  }

  /** Starts renewing and watching; `stop` ends it. */
  start(): void {
    this.#renewTimer = setInterval(() => void this.#renew(), this.leaseMs / 3);
    this.#watchTimer = setInterval(() => void this.#watch(), Math.min(WATCH_MS, this.leaseMs / 2));
  }

  stop(): void {
    if (this.#renewTimer !== null) clearInterval(this.#renewTimer);
    if (this.#watchTimer !== null) clearInterval(this.#watchTimer);
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    this.#renewTimer = null;
  }

  /**
   * Reserves a session in this worker; false when it is reserved already. A worker may claim again what it holds, so without
   * this a second job of the session would take it away from the first.
   */
  reserve(sessionId: SessionId): boolean {
    if (!this.#reserved.has(sessionId)) {
      this.#reserved.add(sessionId);
      return true;
    }
    this.#turnedAway.add(sessionId);
    return false;
  }

  /** Ends a reservation, and the care for the session, whether or not this worker still holds its lock. */
  unreserve(sessionId: SessionId): void {
    this.#reserved.delete(sessionId);
    this.#held.delete(sessionId);
  }

  /** True, once, when another job of the session arrived while it was reserved: its input may be newer than the turn's last write. */
  takeTurnedAway(sessionId: SessionId): boolean {
    return this.#turnedAway.delete(sessionId);
  }

  /** Takes a reserved session that was just claimed into care. `askedAtMs` is the monotonic time from before the claim was sent. */
  hold(sessionId: SessionId, epoch: number, askedAtMs: number): HeldSession {
    const { clock } = this.#options;
    const held = new HeldSession({ sessionId, epoch, clock, trustedUntilMs: this.#trustedUntil(askedAtMs) });
    this.#held.set(sessionId, held);
    return held;
  }

  /** Stops every turn for the same reason. */
  stopAll(reason: StopReason): void {
    for (const held of this.#held.values()) held.stop(reason);
  }

  #trustedUntil(askedAtMs: number): number {
    return askedAtMs + this.leaseMs - Math.min(500, this.leaseMs / 10);
  }

  async #renew(): Promise<void> {
    const held = [...this.#held.values()].filter((one) => !one.signal.aborted);
    if (held.length === 0) return;
    const askedAtMs = this.#options.clock.monotonicMs();
    try {
      const renewed = await renewLocks(this.#options.database, this.owner, this.leaseMs, held);
      for (const one of held) {
        if (renewed.has(one.sessionId)) one.trustUntil(this.#trustedUntil(askedAtMs));
        else if (this.#held.get(one.sessionId) === one) {
          one.stop({ kind: 'lock-lost', message: 'Another worker holds the session.' });
        }
      }
    } catch (error) {
      // The leases are still valid; if they expire before a renewal succeeds, `assertHeld` throws.
      this.#options.database.outages.report(error, 'Leases could not be renewed', { sessions: held.length });
      this.#renewAgainSoon();
    }
  }

  /** The next turn of the interval may come too late for a lease that has missed a renewal already. */
  #renewAgainSoon(): void {
    if (this.#renewTimer === null) return;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => void this.#renew(), Math.min(RENEW_AGAIN_MS, this.leaseMs / 10));
  }

  async #watch(): Promise<void> {
    const held = [...this.#held.values()].filter((one) => !one.signal.aborted);
    if (held.length === 0) return;
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
    }
  }
}
