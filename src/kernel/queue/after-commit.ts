// What follows from a committed write, as a value: who in this process waits for it, and which
// sessions need a worker. A write returns it with its result, and `publish` of
// `src/kernel/queue/rings.ts` carries it out. All of it can be lost: the facts are rows.
import type { Lane } from '../../config.ts';
import type { SessionId } from '../../core/ids.ts';

/** Why a session must be checked. Each needs a turn of the session. */
type TurnRingKind = 'inbound' | 'cron' | 'heartbeat' | 'announce' | 'followup';

export type RingKind = TurnRingKind | 'deliver';

/** A session has work: the lane's next free worker checks it. */
export interface TurnRing {
  kind: TurnRingKind;
  lane: Lane;
  sessionId: SessionId;
  /**
   * The ring's number within its session: the same number is the same ring, however often it is
   * rung.
   */
  ringNo: number;
  /** Over 0: before the sessions that wait in the lane; under 0: after all others. Absent: 0. */
  priority?: number;
  /** It is due in this many milliseconds; absent: now. */
  dueInMs?: number;
}

/**
 * A session has replies to deliver. Deliveries have a queue of their own, for sessions of all
 * lanes.
 */
export interface DeliveryRing {
  kind: 'deliver';
  lane?: Lane;
  sessionId: SessionId;
  ringNo: number;
}

export type Ring = TurnRing | DeliveryRing;

export interface AfterCommit {
  /** Sessions of which something was committed. */
  changed: readonly SessionId[];
  /** Sessions in which messages have ended. They need not be in `changed`. */
  settled?: readonly SessionId[];
  rings: readonly Ring[];
}

/**
 * The result of a write. `after` is absent when nothing was written, or nothing follows from it.
 */
export type Committed<Result> = Result & { after?: AfterCommit };

/**
 * Takes the result of a write, or a list of results, wakes and rings as `after` says, and returns
 * the result unchanged. It waits for nothing and never throws. A write is called as `publish(await
 * write(...))`, so that its `after` cannot be left out.
 */
export type Publish = <Result extends Publishable | readonly Publishable[] | null>(result: Result) => Result;

interface Publishable {
  after?: AfterCommit;
}
