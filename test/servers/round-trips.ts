// The round trips that a PostgreSQL proxy sees and the breakpoints that wait for one of them: what
// all of its connections share. A breakpoint is taken by exactly one round trip, chosen when its
// request is complete.
import { performance } from 'node:perf_hooks';
import { tagOfSql } from './postgres-wire.ts';

/**
 * One round trip of a client, complete or in flight. Times are `performance.now()` of the proxy's
 * process.
 */
export interface RoundTrip {
  /** `application_name` of the connection, empty when it gave none. */
  label: string;
  /** Which connection of this proxy, from 1. */
  connection: number;
  /**
   * Position among all round trips of this proxy, from 1, in the order in which the requests were
   * complete.
   */
  number: number;
  /**
   * The statements, in order: SQL of a simple query, or of each statement that is bound (or only
   * parsed).
   */
  sql: string[];
  /** The name in the comment that begins the first statement; null when there is none. */
  tag: string | null;
  startedAt: number;
  /** The same time on the wall clock, to be compared with times in the database. */
  startedOn: Date;
  endedAt: number | null;
  outcome: 'pending' | 'ok' | 'error' | 'dropped';
  /** Of its request and its answer so far. */
  bytes: number;
  /** After the answer: `I` idle, `T` inside a transaction, `E` inside a failed one; null before. */
  transactionState: string | null;
}

/**
 * The action on the bytes held at a breakpoint: they are passed on, or dropped together with the
 * connection.
 */
export type HeldBytes = 'forward' | 'drop';

export interface Breakpoint {
  when: 'before' | 'after';
  /**
   * Which round trips are counted. Called once for each, when its request is complete. Must not
   * throw.
   */
  matches: (trip: RoundTrip) => boolean;
  /** The one to break at, among those that match since it was armed, from 1. */
  at: number;
  /**
   * Called once, while the bytes are held: before the request is sent, or when the whole answer is
   * here. The connection waits for the returned promise. A throw drops the connection and rejects
   * `reached`.
   */
  hit: (trip: RoundTrip) => Promise<HeldBytes> | HeldBytes;
}

export interface ArmedBreakpoint {
  /** Resolves with the round trip once `hit` has returned; never when it is disarmed first. */
  reached: Promise<RoundTrip>;
  /** True once a round trip was chosen, although `hit` may not have been called yet. */
  isTaken(): boolean;
  /** Takes it away unless it was reached; harmless otherwise. */
  disarm(): void;
}

export interface TakenBreakpoint extends Breakpoint {
  seen: number;
  isTaken: boolean;
  resolve: (trip: RoundTrip) => void;
  reject: (error: unknown) => void;
}

/** The shared state of a proxy's connections: breakpoints, listeners and the count. */
export class RoundTrips {
  readonly #waiting = new Set<TakenBreakpoint>();
  readonly #listeners = new Set<(trip: RoundTrip) => void>();
  #trips = 0;

  arm(breakpoint: Breakpoint): ArmedBreakpoint {
    const { promise, resolve, reject } = Promise.withResolvers<RoundTrip>();
    // A test that has already failed may no longer await it.
    promise.catch(() => {});
    const waiting: TakenBreakpoint = { ...breakpoint, seen: 0, isTaken: false, resolve, reject };
    this.#waiting.add(waiting);
    return { reached: promise, isTaken: () => waiting.isTaken, disarm: () => void this.#waiting.delete(waiting) };
  }

  listen(listener: (trip: RoundTrip) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  begin(label: string, connection: number, sql: string[]): RoundTrip {
    const trip: RoundTrip = {
      label,
      connection,
      number: ++this.#trips,
      sql,
      tag: sql[0] === undefined ? null : tagOfSql(sql[0]),
      startedAt: performance.now(),
      startedOn: new Date(),
      endedAt: null,
      outcome: 'pending',
      bytes: 0,
      transactionState: null,
    };
    this.#tell(trip);
    return trip;
  }

  end(trip: RoundTrip, outcome: 'ok' | 'error' | 'dropped'): void {
    trip.outcome = outcome;
    trip.endedAt = performance.now();
    this.#tell(trip);
  }

  /** Counts the trip at every breakpoint and returns those that chose it. */
  take(trip: RoundTrip): TakenBreakpoint[] {
    const taken: TakenBreakpoint[] = [];
    for (const waiting of this.#waiting) {
      if (!waiting.matches(trip)) continue;
      waiting.seen += 1;
      if (waiting.seen !== waiting.at) continue;
      waiting.isTaken = true;
      this.#waiting.delete(waiting);
      taken.push(waiting);
    }
    return taken;
  }

  #tell(trip: RoundTrip): void {
    for (const listener of this.#listeners) listener(trip);
  }
}

/** Calls the breakpoints one after the other; false when one of them drops the connection. */
export async function passBreakpoints(taken: TakenBreakpoint[], trip: RoundTrip): Promise<boolean> {
  for (const breakpoint of taken) {
    try {
      const held = await breakpoint.hit(trip);
      breakpoint.resolve(trip);
      if (held === 'drop') return false;
    } catch (error) {
      breakpoint.reject(error);
      return false;
    }
  }
  return true;
}
