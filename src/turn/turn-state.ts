// The states of a turn while `runTurn` runs it. A step takes a state to the next; a state that a step is not made for passes through it.
import type { SessionId } from '../core/ids.ts';
import type { SessionStop } from '../core/session-stop.ts';
import type { SessionClaim } from '../store/claim-session.ts';
import type { FinishResult } from '../store/journal/finish-turn.ts';
import type { LaterRing, NeededRing } from '../store/session-locks.ts';
import type { EndDecision } from './end/end-turn.ts';
import type { HeldSession } from './held-session.ts';
import type { CompactedTurn } from './compact/compact-turn.ts';
import type { ToolLoopResult } from './loop/tool-loop.ts';
import type { OpenedTurn } from './opened-turn.ts';
import type { Transcript } from './transcript-cache.ts';
import type { ParkWish, StopReason, TurnFailed } from './turn-end.ts';

/** A claimed session, with the transcript of it that this worker had kept; null: none. */
export type ClaimWithTranscript = SessionClaim & { kept: Transcript | null };

/** How the loop came out, or why there is nothing to loop for: what the end of the turn is decided from. */
export type ResultState = { turn: OpenedTurn } & (
  | ToolLoopResult
  | CompactedTurn
  /** `isBare`: the database has refused an end of this turn before, so this one takes along nothing but its error. */
  | { kind: 'failed'; fault: TurnFailed; isBare: boolean }
  | { kind: 'stopped'; why: SessionStop | Extract<StopReason, { kind: 'turn-timeout' }> }
);

/** States with a turn in them. */
export type TurnOpenState =
  | { kind: 'open'; turn: OpenedTurn }
  | ResultState
  | { kind: 'done'; turn: OpenedTurn; from: ResultState; decision: EndDecision }
  | { kind: 'parking'; turn: OpenedTurn; wish: ParkWish };

/** States after which there is nothing to do. */
export type FinalState =
  | { kind: 'ended'; sessionId: SessionId; result: Extract<FinishResult, { kind: 'ok' }> }
  | { kind: 'parked'; ring: LaterRing }
  | { kind: 'released'; ring: NeededRing | null }
  | { kind: 'early'; ring: LaterRing | null }
  | { kind: 'lost' | 'busy' | 'idle' };

export type TurnState =
  | { kind: 'new'; sessionId: SessionId }
  | { kind: 'held'; claim: ClaimWithTranscript; held: HeldSession }
  | TurnOpenState
  /** The lock goes back, and whatever is open stays open. */
  | { kind: 'leaving'; held: HeldSession }
  | FinalState;

const FINAL = new Set<TurnState['kind']>(['ended', 'parked', 'released', 'early', 'lost', 'busy', 'idle']);

/** True for a state after which there is nothing to do. */
export function isFinal(state: TurnState): state is FinalState {
  return FINAL.has(state.kind);
}
