// The steps of a turn: claim > open > loop > decide > commit. It does not know the queue.
//
//   claim     takes the session's lock and reads, in the same round trip, the waiting inputs and the open turn of an earlier worker
//   open      a new turn: its inputs are chosen, its events drained, its prompt assembled, and all of it is one commit. Or an open one:
//             everything is read back, and the journal says how far it got
//   loop      asks the model and runs its tools, a commit before and after everything that has an effect
//   decide    what follows from the result: deliver, announce, follow up, or nothing
//   commit    the last answer, what follows from it, and the lock's release are one commit
//
// Each step takes a state (`TurnState`) to the next, and returns a state that it is not made for unchanged. What a step throws is caught
// here and nowhere else: it becomes a state (state-after-fault.ts). One pass over the steps is enough, unless the last of them has thrown:
// then the next pass releases the lock, or ends the turn with less than was refused. No turn takes more than four passes.
//
// If the worker crashes anywhere in here, its lock expires and the journal stays as it is. The next claim resumes after it
// (G10, G11).
import type { Committed } from '../../queue/after-commit.ts';
import type { SessionId } from '../../../core/ids.ts';
import type { TurnContext } from '../context.ts';
import { commit, decide, loop, claim, open, type TurnOutcome, type TurnState, isFinal } from './steps.ts';
import { stateAfterFault } from './state-after-fault.ts';

/** Runs the next turn of a session, if it has one and no worker holds it. Rejects only for faults of the database. */
export async function runTurn(context: TurnContext, sessionId: SessionId): Promise<Committed<TurnOutcome>> {
  if (!context.locks.reserve(sessionId)) return { kind: 'busy' };
  try {
    let state: TurnState = { kind: 'new', sessionId };
    while (!isFinal(state)) {
      for (const step of [claim, open, loop, decide, commit]) state = await runStep(step, context, state);
    }
    return state;
  } finally {
    context.locks.unreserve(sessionId);
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
