// The states of a turn while `runTurn` runs it. A step takes a state to the next; a state that a step is not made for passes through it.
import type { AfterCommit } from '../../queue/after-commit.ts';
import type { SessionId } from '../../../core/ids.ts';
import type { SessionStop } from '../../../core/statuses.ts';
import type { HeldSession } from '../held-session.ts';
import type { ToolLoopResult } from '../loop/tool-loop.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import type { ClaimWithTranscript } from '../transcript-cache.ts';
import type { StopReason, TurnFailed, TurnWait } from '../turn-stop.ts';
import type { EndDecision } from '../turn-write.ts';

/** The result of the loop, or why there is nothing to loop for: the end of the turn is decided from it. */
export type ResultState = { turn: OpenedTurn } & (
  | ToolLoopResult
  | { kind: 'compacted'; reply: string }
  /** `isBare`: the database has refused an end of this turn before, so this one takes along nothing but its error. */
  | { kind: 'failed'; fault: TurnFailed; isBare: boolean }
  | { kind: 'stopped'; why: SessionStop | Extract<StopReason, { kind: 'turn-timeout' }> }
);

/** States with a turn in them. */
export type TurnOpenState =
  | { kind: 'open'; turn: OpenedTurn }
  | ResultState
  | { kind: 'done'; turn: OpenedTurn; from: ResultState; decision: EndDecision }
  | { kind: 'parking'; turn: OpenedTurn; wait: TurnWait };

/**
 * How a turn was left, and what is then true. What follows from its last write (`after`) is for the caller to publish, once the session is
 * given back.
 * - `ended`: the turn is closed and its messages are settled; the rings are for messages that arrived meanwhile, for other sessions and for
 *   the outbox.
 * - `released`: nothing is open, or the turn is and no worker holds it; the ring is for another worker.
 * - `parked`: the turn is open and waits for an external event; the ring is for a worker when it was stopped meanwhile.
 * - `lost`: another worker holds the session, or the holder is unknown: nothing more was written; the lease or the reconciler decides.
 * - `busy`, `idle`, `early`: there was nothing to do here.
 */
export type TurnOutcome =
  | { kind: 'ended' | 'parked' | 'released' | 'early'; after: AfterCommit }
  | { kind: 'lost' | 'busy' | 'idle' };

export type TurnState =
  | { kind: 'new'; sessionId: SessionId }
  | { kind: 'held'; claim: ClaimWithTranscript; held: HeldSession }
  | TurnOpenState
  /** The lock is released, and an open turn stays open. */
  | { kind: 'leaving'; held: HeldSession; broken: OpenedTurn | null }
  | TurnOutcome;

const FINAL = new Set<TurnState['kind']>(['ended', 'parked', 'released', 'early', 'lost', 'busy', 'idle']);

/** True for a state after which there is nothing to do. */
export function isFinal(state: TurnState): state is TurnOutcome {
  return FINAL.has(state.kind);
}
