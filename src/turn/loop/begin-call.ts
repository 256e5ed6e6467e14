// What every call for an answer begins with, of the model and of a plugin's harness: it is charged, and there is room for it.
import { commitStep } from '../commit-step.ts';
import { compactWhenFull } from '../compact/compact-when-full.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import type { NextRequest } from '../request-view.ts';
import { TurnFailed } from '../turn-end.ts';
import { NO_ROWS } from '../turn-write.ts';
import { modelStarted, turnResumed } from '../model-events.ts';
import { reserveCost } from './reserve-cost.ts';
import { callViewOf } from '../open/asked-model.ts';

/**
 * Charges the next call, unless that is done, and makes room for it when it needs some. An earlier attempt may have made the call that it
 * charged: this one charges its own (G16). Throws `TurnStopped` when the turn stops meanwhile.
 */
export async function beginCall(context: TurnContext, turn: OpenedTurn): Promise<void> {
  const { isCharged, park, progress } = turn.journal.at;
  const calls = isCharged ? progress.calls : progress.calls + 1;
  await reserveCost(context, turn, { callNo: calls });
  if (!isCharged) {
    const resumed = park === null ? [] : [turnResumed(park)];
    await commitStep(context, turn, {
      ...NO_ROWS,
      totals: { calls },
      events: [...resumed, modelStarted(turn.id, calls)],
    });
  }
  await compactWhenFull(context, turn);
  // A compaction has made the call with that number.
  const next = turn.journal.at.progress.calls;
  if (next !== calls) await reserveCost(context, turn, { callNo: next });
}

/** The request of the call to be made. Throws `TurnFailed` for a history that every provider refuses, `TurnStopped` when the turn stops. */
export function nextRequest(turn: OpenedTurn): Pick<NextRequest, 'messages' | 'callView'> {
  turn.held.assertHeld();
  const { messages, callView, violations } = turn.journal.attempt.requests.next();
  if (violations.length > 0) {
    const details = violations.slice(0, 3).map((violation) => `message ${violation.at}: ${violation.detail}`);
    throw new TurnFailed('malformed_history', `The history cannot be sent: ${details.join('; ')}.`);
  }
  return { messages, callView: callViewOf(turn, callView) };
}
