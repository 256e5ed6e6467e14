// Why a turn stops before it is done. These are values: an abort signal carries one as its reason, and `run-turn` turns
// it into the end of the turn, or into no end at all (the turn stays resumable).
import type { SessionStop } from '../../core/statuses.ts';
import type { JournalWrite } from './journal/journal.ts';
import type { TurnPark } from './journal/park-turn.ts';

/**
 * A stop of the session: a person, a parent, a deadline of the run or a newer message requested it.
 * `turn-timeout`: the deadline of the turn. `shutdown`: the worker is ending; another worker resumes
 * the turn. `parked`: it waits for an external event for longer than a worker should. `lock-lost`: another worker runs the session
 * now, or may do so; write nothing, start nothing.
 */
export type StopReason =
  | SessionStop
  | { kind: 'turn-timeout'; message: string }
  | { kind: 'shutdown'; message: string }
  | { kind: 'parked'; message: string; wait: TurnWait }
  | { kind: 'lock-lost'; message: string };

/** The code of a model call that was ended for this reason. A stop of any kind ends a call in the same way. */
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
  /** Called when the turn is parked: what it waits for may have happened meanwhile. Must not throw. */
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
