// How a worker of the same process claims a message when it is accepted. Without such a worker, or when it is busy, the
// doorbell is rung, and the first free worker of any process claims it.
import type { Lane } from '../config.ts';
import type { SessionId } from '../core/ids.ts';
import type { Taker } from './accept-messages.ts';
import type { SessionClaim } from './claim-session.ts';

/** A worker that keeps itself free for one message. Exactly one of its two ends is to be called. */
export interface Offer {
  /** To be named with the message. */
  taker: Taker;
  /** The taker was granted the message, or it is not known whether it was: the worker continues from there. Not awaited. */
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
