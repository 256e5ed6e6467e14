// The steps of a turn (run-turn.ts): each takes a state to the next, and returns a state that it is
// not made for unchanged.
import type { TurnContext } from '../context.ts';
import { pickKnown, type ClaimWithTranscript } from '../transcript-cache.ts';
import { resumeTurn } from '../open/resume-turn.ts';
import { startTurn } from '../open/start-turn.ts';
import { compactOnRequest } from '../compact/compact-when-full.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { runToolLoop, type ToolLoopResult } from '../loop/tool-loop.ts';
import {
  endAnswered,
  endCompacted,
  endFailed,
  endStopped,
  endYielded,
  storeBrokenCall,
  storeEnd,
} from '../end/end-turn.ts';
import { storePark } from '../gate/gate.ts';
import type { EndDecision } from '../position.ts';
import type { AfterCommit } from '../../queue/after-commit.ts';
import type { SessionId } from '../../../core/ids.ts';
import type { SessionStop } from '../../../core/statuses.ts';
import type { HeldSession } from '../held-session.ts';
import type { StopReason, TurnFailed, TurnWait } from '../turn-stop.ts';

/** From `new` to `held`, or to the reason why there is nothing to do. */
export async function claim(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (state.kind !== 'new') return state;
  const { sessionId } = state;
  const askedAtMs = context.clock.monotonicMs();
  const kept = context.store.transcripts.take(sessionId);
  const { owner, leaseMs } = context.store.locks;
  const answer = await context.store.claim({ sessionId, owner, leaseMs, known: pickKnown(kept) });
  if (answer.kind === 'claimed') {
    context.models.states.learn(answer.blocks);
    const held = context.store.locks.hold(sessionId, answer.session.epoch, askedAtMs);
    return { kind: 'held', claim: { ...answer, kept }, held };
  }
  if (kept !== null) context.store.transcripts.keep(sessionId, kept);
  return answer;
}

/** From `held` to `open`, or to `leaving` when there is nothing to open. */
export async function open(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (state.kind !== 'held') return state;
  const { claim, held } = state;
  const turn =
    claim.openTurn === null
      ? await startTurn(context, claim, held)
      : await resumeTurn(context, claim, claim.openTurn, held);
  return turn === null ? { kind: 'leaving', held, broken: null } : { kind: 'open', turn };
}

/** From `open` to the result of the loop. A turn that cannot be run at all has failed. */
export async function loop(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (state.kind !== 'open') return state;
  const { turn } = state;
  if (turn.failure !== null) return { kind: 'failed', turn, fault: turn.failure, isBare: false };
  const endDeadline = startDeadline(turn);
  try {
    const result =
      turn.kind === 'compaction'
        ? { kind: 'compacted' as const, reply: await compactOnRequest(context, turn) }
        : await runToolLoop(context, turn);
    turn.held.assertHeld();
    return { ...result, turn };
  } finally {
    endDeadline();
  }
}

/**
 * Stops a turn at its deadline, until the returned function is called. A turn that is compacting
 * gets the time of a compaction in addition, once.
 */
function startDeadline({ agent, held, journal, kind }: OpenedTurn): () => void {
  const { timeoutSeconds, compaction } = agent;
  const stop = (): void =>
    held.stop({ kind: 'turn-timeout', message: `The turn took longer than ${timeoutSeconds} s.` });
  let timer = setTimeout(() => {
    const isLonger = journal.attempt.isCompacting && kind !== 'compaction';
    if (isLonger) timer = setTimeout(stop, compaction.timeoutSeconds * 1000);
    else stop();
  }, timeoutSeconds * 1000);
  return () => clearTimeout(timer);
}

/** From a result to `done`. */
export async function decide(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (!hasResult(state)) return state;
  return { kind: 'done', turn: state.turn, from: state, decision: await decisionFrom(context, state) };
}

function decisionFrom(context: TurnContext, state: ResultState): EndDecision | Promise<EndDecision> {
  switch (state.kind) {
    case 'answered':
      return endAnswered(context, state.turn, state.answered);
    case 'yielded':
      return endYielded(state.write);
    case 'compacted':
      return endCompacted(context, state.turn, state.reply);
    case 'failed':
      return endFailed(context, state.turn, state);
    case 'stopped':
      return endStopped(context, state.turn, state.why);
    default:
      return state satisfies never;
  }
}

function hasResult(state: TurnState): state is ResultState {
  const { kind } = state;
  return kind === 'answered' || kind === 'yielded' || kind === 'compacted' || kind === 'failed' || kind === 'stopped';
}

/** From `done` to `ended`, from `parking` to `parked`, from `leaving` to `released`. */
export async function commit(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (state.kind === 'done') {
    const { after } = await storeEnd(context, state.turn, state.decision);
    return { kind: 'ended', after };
  }
  if (state.kind === 'parking') return { kind: 'parked', after: await storePark(context, state.turn, state.wait) };
  if (state.kind !== 'leaving') return state;
  const { sessionId, epoch } = state.held;
  if (state.broken !== null && !(await storeBrokenCall(context, state.broken))) return { kind: 'lost' };
  const { after } = await context.store.release({ sessionId, epoch });
  return { kind: 'released', after };
}

// The states of a turn while `runTurn` runs it. A step takes a state to the next; a state that a
// step is not made for passes through it.

/**
 * The result of the loop, or why there is nothing to loop for: the end of the turn is decided from
 * it.
 */
export type ResultState = { turn: OpenedTurn } & (
  | ToolLoopResult
  | { kind: 'compacted'; reply: string }
  /**
   * `isBare`: the database has refused an end of this turn before, so this one takes along nothing
   * but its error.
   */
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
 * How a turn was left, and what is then true. What follows from its last write (`after`) is for the
 * caller to publish, once the session is given back.
 * - `ended`: the turn is closed and its messages are settled; the rings are for messages that
 *   arrived meanwhile, for other sessions and for
 *   the outbox.
 * - `released`: nothing is open, or the turn is and no worker holds it; the ring is for another
 *   worker.
 * - `parked`: the turn is open and waits for an external event; the ring is for a worker when it
 *   was stopped meanwhile.
 * - `lost`: another worker holds the session, or the holder is unknown: nothing more was written;
 *   the lease or the reconciler decides.
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
