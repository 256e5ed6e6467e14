// One step of a turn becomes durable, and the turn advances past it.
import type { TurnContext } from './context.ts';
import { advanceTurn, lockLost, writeOf, type Moment, type RunningTurn } from './running-turn.ts';
import { logFailedCalls } from './turn-log.ts';

/**
 * Commits one step of a turn and advances the turn. Throws `TurnStopped` when this worker no longer holds the session
 * (`lock-lost`), or when a person requested a stop; in the second case the step is committed.
 */
export async function commit(context: TurnContext, turn: RunningTurn, moment: Moment): Promise<void> {
  turn.held.assertHeld();
  const write = writeOf(turn, moment);
  const verdict = await context.store.commitStep(write);
  if (verdict.kind === 'fenced') throw lockLost(turn);
  advanceTurn(turn, write);
  logFailedCalls(context.logger, turn, write.modelCalls);
  turn.steers.known = verdict.steerSeq;
  context.onCommit(turn.session.id, 'progress');
  if (verdict.stop !== null) turn.held.stop(verdict.stop);
  turn.held.assertHeld();
}
