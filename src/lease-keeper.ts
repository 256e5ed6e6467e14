// Leases, as the process keeps them that holds them. Owner and expiry are columns of the row that a
// lease protects, so that the statement that writes also checks them; here is how long the process
// may rely on them. It measures with the monotonic clock from before it asked for the lease, and
// trusts nine tenths: a process that was paused notices it itself, before it starts anything (G7),
// with any wall clock (G8).
//
//   claimed ──▶ held ──after a third: renewed──▶ held ──▶ dropped: no longer renewed
//                │ └─ the row has another owner, or may not be held now ──▶ lost: the signal aborts
//                └─ no answer, or a fault of the database: asked again until nine tenths have passed. Then nothing may be started,
//                   and the lease is lost, too; with `runsOn`, only when something would be started
//
// docs/internals.md lists all leases.
import type { Clock } from './clock.ts';
import type { OutageLog } from './logger.ts';

type MonotonicClock = Pick<Clock, 'monotonicMs'>;

/** A lease that is kept is checked this often while it lasts. */
const CHECKS = 12;
/**
 * The part of a lease after which the next check renews it: the fourth, also if it is a little
 * early.
 */
const RENEWED_AFTER = 0.3;
/** The part of a lease that is trusted; the rest is for clocks that run at different speeds. */
const TRUSTED = 0.9;

/**
 * `over`: it was not renewed in time. `refused`: the row has another owner, or may not be held now.
 */
export type LeaseLoss = 'over' | 'refused';

const LOSSES: Record<LeaseLoss, string> = {
  over: 'ran out before it was renewed',
  refused: 'was not renewed: another process holds it, or it may not be held now',
};

/** Nothing may be started or sent under a lease, because another process may hold it by now. */
export class LeaseLostError extends Error {
  readonly code = 'lease_lost';
  constructor(id: string, loss: LeaseLoss) {
    super(`The lease of ${id} ${LOSSES[loss]}.`);
    this.name = 'LeaseLostError';
  }
}

export interface LeaseFacts {
  /** Names it in its keeper, and in errors. */
  id: string;
  leaseMs: number;
  clock: MonotonicClock;
  /** The monotonic time from before the claim was sent. */
  askedAtMs: number;
}

export class Lease {
  readonly id: string;
  readonly #clock: MonotonicClock;
  readonly #leaseMs: number;
  readonly #abort = new AbortController();
  #askedAtMs: number;
  #isLost = false;

  constructor({ id, leaseMs, clock, askedAtMs }: LeaseFacts) {
    this.id = id;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#askedAtMs = askedAtMs;
  }

  /** Aborts when the lease is lost; its reason is what `assertHeld` throws. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** False when another process may hold it by now. */
  get isTrusted(): boolean {
    return !this.#isLost && !this.isOver;
  }

  /**
   * True when it was not renewed in time. A later renewal may still find that no process has
   * claimed it.
   */
  get isOver(): boolean {
    return this.#clock.monotonicMs() >= this.#askedAtMs + this.#leaseMs * TRUSTED;
  }

  /** The monotonic time from before it was claimed or last renewed. */
  get askedAtMs(): number {
    return this.#askedAtMs;
  }

  /**
   * Throws the reason of the signal unless the lease can be trusted. Call it right before anything
   * starts.
   */
  assertHeld(): void {
    if (!this.#abort.signal.aborted && this.isOver) this.lose('over');
    this.#abort.signal.throwIfAborted();
  }

  /** Ends everything under it, for good: another process may hold it by now. */
  lose(loss: LeaseLoss): void {
    this.#isLost = true;
    this.end(this.reasonOf(loss));
  }

  /**
   * Called after a renewal, with the time from before it was sent. Answers may arrive in another
   * order.
   */
  trustFrom(askedAtMs: number): void {
    this.#askedAtMs = Math.max(this.#askedAtMs, askedAtMs);
  }

  /** Aborts the signal. The first reason is kept. */
  protected end(reason: Error): void {
    this.#abort.abort(reason);
  }

  protected reasonOf(loss: LeaseLoss): Error {
    return new LeaseLostError(this.id, loss);
  }
}

interface Keeping {
  leaseMs: number;
  clock: MonotonicClock;
  /** What the leases are of, for the log. */
  of: string;
  outages: Pick<OutageLog, 'report'>;
}

export interface LeaseKeeping<Held extends Lease> extends Keeping {
  /**
   * Renews these leases in one statement, and answers the ids of those that are still held. If it
   * rejects, it is called again soon.
   */
  renew: (held: readonly Held[]) => Promise<ReadonlySet<string>>;
  /**
   * True: what runs under a lease may run on when it cannot be renewed in time, because all that it
   * writes is checked, and an outage of the database that every process sees makes no other one the
   * owner.
   */
  runsOn?: boolean;
}

/** Renews leases of a process together, as long as it keeps any. */
export class LeaseKeeper<Held extends Lease> {
  readonly #options: LeaseKeeping<Held>;
  readonly #kept = new Map<string, Held>();
  #timer: NodeJS.Timeout | undefined;
  #renewAtMs = 0;

  constructor(options: LeaseKeeping<Held>) {
    this.#options = options;
  }

  /** The kept leases whose signal has not aborted. */
  get held(): Held[] {
    return [...this.#kept.values()].filter(({ signal }) => !signal.aborted);
  }

  /** Takes a lease that was just claimed into care. */
  keep(lease: Held): Held {
    const { leaseMs } = this.#options;
    // A claim may have waited for its answer: the lease is renewed after a third of it, whenever
    // the others are.
    const renewAtMs = lease.askedAtMs + leaseMs * RENEWED_AFTER;
    this.#renewAtMs = this.#kept.size === 0 ? renewAtMs : Math.min(this.#renewAtMs, renewAtMs);
    this.#kept.set(lease.id, lease);
    this.#timer ??= setInterval(() => this.#check(), leaseMs / CHECKS);
    return lease;
  }

  /** Ends the care for a lease, whether or not it is still held. */
  drop(id: string): void {
    this.#kept.delete(id);
    if (this.#kept.size === 0) this.stop();
  }

  /** Ends the care for all. They run out, unless they are released. */
  stop(): void {
    this.#kept.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    const { clock, runsOn = false } = this.#options;
    if (!runsOn) for (const lease of this.held) if (lease.isOver) lease.lose('over');
    const { held } = this;
    if (held.length > 0 && clock.monotonicMs() >= this.#renewAtMs) void this.#renew(held);
  }

  /**
   * Renews the leases. A renewal without an answer is not waited for: after a third of a lease, the
   * next is sent.
   */
  async #renew(held: readonly Held[]): Promise<void> {
    const { clock, leaseMs, renew, of, outages } = this.#options;
    const askedAtMs = clock.monotonicMs();
    this.#renewAtMs = askedAtMs + leaseMs * RENEWED_AFTER;
    try {
      const renewed = await renew(held);
      for (const lease of held) {
        if (renewed.has(lease.id)) lease.trustFrom(askedAtMs);
        // A lease that was dropped meanwhile was released, and this process may have claimed it
        // again.
        else if (this.#kept.get(lease.id) === lease) lease.lose('refused');
      }
    } catch (error) {
      outages.report(error, 'Leases could not be renewed', { leases: held.length, of });
      this.#renewAtMs = 0;
    }
  }
}

/** A single lease, until `stop`, which ends its care and releases it. */
export interface KeptLease {
  lease: Lease;
  stop: () => Promise<void>;
}

/** Keeps a lease that was just claimed. `renew` answers whether it is still held. */
export function keepLease({
  renew,
  release,
  ...facts
}: LeaseFacts & Keeping & { renew: () => Promise<boolean>; release?: () => Promise<void> }): KeptLease {
  const { id } = facts;
  const keeper = new LeaseKeeper({ ...facts, renew: async () => new Set((await renew()) ? [id] : []) });
  const lease = keeper.keep(new Lease(facts));
  let stopped: Promise<void> | undefined;
  async function end(): Promise<void> {
    keeper.stop();
    await release?.();
  }
  return { lease, stop: () => (stopped ??= end()) };
}
