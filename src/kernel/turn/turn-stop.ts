// Why a turn stops before it is done. These are values: an abort signal carries one as its reason,
// and `run-turn` turns it into the end of the turn, or into no end at all (the turn stays
// resumable).
import type { SessionStop } from '../../core/statuses.ts';
import type { JournalWrite } from './journal/journal.ts';
import type { TurnPark } from './journal/park-turn.ts';
import type { LedgerRow } from '../sessions/claim-session.ts';

/**
 * A stop of the session: a person, a parent, a deadline of the run or a newer message requested it.
 * `turn-timeout`: the deadline of the turn. `shutdown`: the worker is ending; another worker
 * resumes the turn. `parked`: it waits for an external event for longer than a worker should.
 * `lock-lost`: another worker runs the session now, or may do so; write nothing, start nothing.
 */
export type StopReason =
  | SessionStop
  | { kind: 'turn-timeout'; message: string }
  | { kind: 'shutdown'; message: string }
  | { kind: 'parked'; message: string; wait: TurnWait }
  | { kind: 'lock-lost'; message: string };

/**
 * The code of a model call that was ended for this reason. A stop of any kind ends a call in the
 * same way.
 */
export function callCodeOf({ kind }: StopReason): string {
  return kind === 'interrupted' || kind === 'rolledBack' ? 'stopped' : kind;
}

/** Why a turn is parked, and for how long. */
export interface TurnWait extends Omit<TurnPark, keyof JournalWrite | 'heldSeq' | 'parks'> {
  /** Further fields of the event, besides the reason. */
  facts?: Record<string, unknown>;
  /** True when a call of the turn itself has failed; false when none was made. */
  hasCalled: boolean;
  /** True when the model is held back from now on, for all turns. */
  isNews?: boolean;
  /** The retries of the turn with the one that it waits for; absent: it waits for none. */
  retries?: number;
  /**
   * Called when the turn is parked: what it waits for may have happened meanwhile. Must not throw.
   */
  onParked?: () => void;
}

/** Carries a `StopReason` through code that rejects with it. */
export class TurnStopped extends Error {
  readonly code = 'turn_stopped';
  readonly reason: StopReason;
  constructor(reason: StopReason) {
    super(reason.message);
    this.name = 'TurnStopped';
    this.reason = reason;
  }
}

/** The turn cannot succeed: it ends `failed` with this code and message. */
export class TurnFailed extends Error {
  readonly code: string;
  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'TurnFailed';
    this.code = code;
  }
}

// What the gate knows of the waits of an open turn by their codes, and how a turn ends that has
// waited too long. The texts of the waits are in src/kernel/rules/why.ts.

/**
 * A wait longer than this is not spent in a worker: the turn is parked and its slot is free, in
 * milliseconds.
 */
export const WAIT_IN_SLOT_MS_MAX = 5_000;

/** The code of a turn whose client did not send its results in time. */
export const CALLER_TIMEOUT = 'caller_timeout';

/**
 * True for a row of a call that waits for something outside: it has neither begun nor got a result.
 */
export function isHeld({ heldFor, runs, result, status }: LedgerRow): boolean {
  return heldFor !== null && runs === 0 && result === null && status === 'intent';
}

/** The waits for a rate. */
export const RATE_CODES: ReadonlySet<string> = new Set(['rate_limited', 'model_blocked']);

/** Why a turn waits for its model or for the provider of it. */
export const MODEL_CODES: readonly string[] = [
  'model_blocked',
  'rate_limited',
  'model_away',
  'model_wrong_address',
  'retry_wait',
];

/**
 * True for a wait that counts towards `models.outage.giveUpAfter`. All others have a bound of their
 * own.
 */
export function isOutage(code: string): boolean {
  return MODEL_CODES.includes(code);
}

/** The text of a turn whose messages have expired while it waited. */
export function expiredText(expiresAtMs: number): string {
  return `The turn waited until its messages expired at ${new Date(expiresAtMs).toISOString()} (expiresAt).`;
}

/** The text of a turn that has waited for as long as it may. */
export function givenUpText(giveUpAfterMs: number): string {
  const hours = Math.round(giveUpAfterMs / 36_000) / 100;
  return `The turn ended after waiting for ${hours} h (models.outage.giveUpAfter).`;
}
