// How a worker of the same process takes a message in the moment in which it is accepted. Without one, or when it is busy, the
// message is rung for, and the first free worker of any process takes it.
import type { Lane } from '../config.ts';
import type { SessionId } from '../core/ids.ts';
import type { Taker } from './accept-messages.ts';
import type { SessionClaim } from './claim-session.ts';

/** A worker that keeps itself free for one message. Exactly one of its two ends is to be called. */
export interface Offer {
  /** To be named with the message. */
  taker: Taker;
  /** The message was given to the taker, or nobody knows whether it was: the worker goes on from there. Not waited for. */
  take(taken: SessionClaim | 'unknown'): void;
  /** The message was not given to it. */
  withdraw(): void;
}

/** The session that a message is for. */
export interface OfferTarget {
  lane: Lane;
  sessionId: SessionId;
}

/** Asks for an offer for a message; null: there is none, because no place is free or the worker is busy with the session. */
export type OfferWorker = (wanted: OfferTarget) => Offer | null;
