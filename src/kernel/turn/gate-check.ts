// What the gate before a model call (gate.ts) knows of its checks. A check says of a call whether
// it may be made now; one that lets it through may hold something for it: a place in a limit,
// money, the test of a model that is away. workers/create-turn-context.ts lists the checks of the
// kernel, and features bring theirs (`check` of `TurnFeature`).
import type { CallPurpose, ModelRequest } from '../../core/model-request.ts';
import type { Amounts } from '../../core/rate-limit.ts';
import type { NamedModel } from '../../core/models.ts';
import type { ModelError } from '../../model/model.ts';
import type { ModelCallRow } from './journal/journal.ts';
import type { Reason } from '../rules/why.ts';
import type { OpenedTurn } from './opened-turn.ts';
import type { TurnFailed, TurnWait } from './turn-stop.ts';
import type { TurnId } from '../../core/ids.ts';

/** A call that is about to be made. */
export interface ComingCall {
  turn: OpenedTurn;
  /**
   * `batch`: through a batch of the provider, which has limits of its own. `harness`: by a plugin.
   */
  way: 'live' | 'batch' | 'harness';
  model: NamedModel;
  callNo: number;
  /**
   * Present for calls that do not continue the turn's requests: the summary of a compaction, and
   * calls for tools and for audio.
   */
  purpose?: Exclude<CallPurpose, 'answer'>;
  /**
   * What it costs in micro-dollars where its model has no price by tokens; null: not known. Absent:
   * tokens decide.
   */
  unitMicros?: number | null;
  /** The request, which is made only when a check needs it. */
  request: () => ModelRequest;
}

/**
 * How long a call waits and for what. The code and the object of the reason are the key under which
 * its turn is parked, and woken.
 */
export interface Wait extends Partial<Omit<TurnWait, 'reason' | 'delayMs'>> {
  reason: Reason;
  /** In milliseconds; null: until the turn is woken. */
  forMs: number | null;
  /** Calls that wait for the same thing are spread over this time in addition, in milliseconds. */
  spreadMs?: number;
  /** However short the wait is, the turn is parked. */
  isParked?: boolean;
  /** The wait is for the model: another model may be asked instead. */
  isOfModel?: boolean;
}

export type CheckAnswer =
  /** `waitedMs`: how long the check has waited itself for its place. */
  { kind: 'pass'; hold?: Hold; waitedMs?: number } | ({ kind: 'wait' } & Wait) | { kind: 'fail'; failure: TurnFailed };

/** The answer of a check with nothing to hold. */
export const PASS: CheckAnswer = { kind: 'pass' };

/**
 * What happens to the call for which a check holds something: `begun` once it is sent, then exactly
 * one of `answered`, `failed` and `left`.
 */
export interface Hold {
  begun?(): void;
  /** The provider reports what is left of its limits. */
  remaining?(left: Amounts): void;
  answered?(): void;
  /** Resolves with what that means for other calls of the model; null: nothing. */
  failed?(fault: ModelError): Promise<Setback | null>;
  /** It was not made, or broken off: it says nothing of the model. */
  left?(): void;
  /** Its figures are known, however it ended. */
  used?(row: ModelCallRow): void;
}

/**
 * `blocked`: its provider asks for no calls. `key`: it asks for none by this key. `away`: it does
 * not answer. `unsure`: that may be the session's own trouble.
 */
export interface Setback {
  kind: 'blocked' | 'key' | 'away' | 'unsure';
  /** How the turn of the call waits if it does not ask again from its slot. */
  wait: Wait;
}

export interface GateCheck {
  /**
   * False for calls that it has nothing to do with, and while its feature is not configured: it is
   * not asked then. Absent: it always is.
   */
  applies?(call: ComingCall): boolean;
  /**
   * May wait by itself for a few seconds, where it keeps a queue. `stayedMs`: how long the call has
   * waited in its slot.
   */
  ask(call: ComingCall, stayedMs: number): CheckAnswer | Promise<CheckAnswer>;
  /** Called after a write that has stored model calls of the turn. */
  stored?(turnId: TurnId): Promise<void>;
  /** False while calls of the model would not be let through soon. */
  isOpen?(model: NamedModel): boolean;
  /** Ends its timers. */
  stop?(): void;
}
