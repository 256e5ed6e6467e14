// The steps of a turn: claim > open > loop > decide > commit. It does not know the queue.
//
//   claim     takes the session's lock and reads, in the same round trip, the waiting inputs and
//             the open turn of an earlier worker
//   open      a new turn: its inputs are chosen, its events drained, its prompt assembled, and all
//             of it is one commit. Or an open one: everything is read back, and the journal says
//             how far it got
//   loop      asks the model and runs its tools, a commit before and after everything that has an
//             effect
//   decide    what follows from the result: deliver, announce, follow up, or nothing
//   commit    the last answer, what follows from it, and the lock's release are one commit
//
// Each step takes a state (`TurnState`) to the next, and returns a state that it is not made for
// unchanged. What a step throws is caught here and nowhere else: it becomes a state
// (`stateAfterFault`). One pass over the steps is enough, unless the last of them has thrown: then
// the next pass releases the lock, or ends the turn with less than was refused. No turn takes more
// than four passes.
//
// If the worker crashes anywhere in here, its lock expires and the journal stays as it is. The next
// claim resumes after it (G10, G11).
import type { Committed } from '../../queue/after-commit.ts';
import type { SessionId } from '../../../core/ids.ts';
import type { TurnContext } from '../context.ts';
import {
  commit,
  decide,
  loop,
  claim,
  open,
  type TurnOutcome,
  type TurnState,
  isFinal,
  type ResultState,
  type TurnOpenState,
} from './steps.ts';
import { findRefusal } from '../../../database/database.ts';
import { isPassingFault } from '../../../database/passing-faults.ts';
import { FileSystemHangsError } from '../../../files/file-slots.ts';
import type { HeldSession } from '../held-session.ts';
import { pickLogIds, type OpenedTurn } from '../opened-turn.ts';
import { TurnFailed, TurnStopped, type StopReason } from '../turn-stop.ts';

/**
 * Runs the next turn of a session, if it has one and no worker holds it. Rejects only for faults of
 * the database.
 */
export async function runTurn(context: TurnContext, sessionId: SessionId): Promise<Committed<TurnOutcome>> {
  if (!context.store.locks.reserve(sessionId)) return { kind: 'busy' };
  try {
    let state: TurnState = { kind: 'new', sessionId };
    while (!isFinal(state)) {
      for (const step of [claim, open, loop, decide, commit]) state = await runStep(step, context, state);
    }
    return state;
  } finally {
    context.store.locks.unreserve(sessionId);
  }
}

type Step = (context: TurnContext, state: TurnState) => Promise<TurnState>;

async function runStep(step: Step, context: TurnContext, state: TurnState): Promise<TurnState> {
  try {
    return await step(context, state);
  } catch (error) {
    return stateAfterFault(context, state, error);
  }
}

// What becomes of a turn after an error. A stop and a failure end it, unless they leave it open for
// another worker. A fault of the database that passes leaves it open, too, and so does a file
// system that hangs; a fault that does not pass would meet every attempt, each with a model call of
// its own, so it ends the turn.

/**
 * The state after a step has thrown. Rethrows anything that is neither a stop nor an end of the
 * turn: there is no turn, or no end can be stored.
 */
export function stateAfterFault(context: TurnContext, state: TurnState, error: unknown): TurnState {
  const turn = 'turn' in state ? state.turn : null;
  const held = turn?.held ?? (state.kind === 'held' ? state.held : null);
  if (held === null) throw error;
  if (error instanceof TurnStopped) return stateAfterStop(held, turn, error.reason);
  if (isPassingFault(error)) {
    if (!held.isTrusted) return { kind: 'lost' };
    context.store.database.outages.failed(error);
    // The next claim need not wait until the lease expires.
    return { kind: 'leaving', held, broken: null };
  }
  if (error instanceof FileSystemHangsError) {
    // It has been waited for, so the next attempt, here or in a worker that can read the files,
    // does not follow at once.
    context.logger.warn({ err: error, sessionId: held.sessionId }, 'Turn is left to be tried again');
    return held.isTrusted ? { kind: 'leaving', held, broken: null } : { kind: 'lost' };
  }
  if (!('turn' in state)) throw error;
  return failedAfter(context, state, error);
}

function stateAfterStop(held: HeldSession, turn: OpenedTurn | null, why: StopReason): TurnState {
  if (why.kind === 'lock-lost') return { kind: 'lost' };
  if (turn === null || why.kind === 'shutdown') return { kind: 'leaving', held, broken: turn };
  return why.kind === 'parked' ? { kind: 'parking', turn, wait: why.wait } : { kind: 'stopped', turn, why };
}

/**
 * The turn fails. If its end as a failure was refused, too, the next end takes along nothing that
 * the database may refuse.
 */
function failedAfter(context: TurnContext, state: TurnOpenState, error: unknown): ResultState {
  const { turn } = state;
  const decidedFrom = state.kind === 'done' ? state.from : state;
  if (decidedFrom.kind === 'failed' && decidedFrom.isBare) throw error;
  const isBare = decidedFrom.kind === 'failed' || decidedFrom.kind === 'stopped';
  const fault = error instanceof TurnFailed ? error : unforeseen(context, turn, error);
  return { kind: 'failed', turn, fault, isBare };
}

/** The failure of a turn after an error that is neither the model's nor a stop. */
function unforeseen(context: TurnContext, turn: OpenedTurn, error: unknown): TurnFailed {
  context.logger.error({ err: error, ...pickLogIds(context, turn) }, 'Turn failed with an unexpected error');
  const refusal = findRefusal(error);
  if (refusal === null) return new TurnFailed('internal_error', String(error), error);
  const message = `The database refused to store a step of this turn (${refusal}). The step was not kept; send the message again.`;
  return new TurnFailed('commit_failed', message, error);
}
