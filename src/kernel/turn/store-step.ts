// One step of a turn becomes durable, and the turn moves past it.
import type { TurnContext } from './context.ts';
import type { OpenedTurn } from './opened-turn.ts';
import { reportCalls } from './turn-log.ts';
import type { TurnWrite } from './position.ts';

/**
 * Commits one step of a turn. Throws `TurnStopped` when this worker no longer holds the session
 * (`lock-lost`), or when a stop was requested; in the second case the step is committed.
 */
export async function storeStep(context: TurnContext, turn: OpenedTurn, write: TurnWrite): Promise<void> {
  const { held, journal } = turn;
  held.assertHeld();
  const verdict = context.publish(await journal.store(write, (rows) => context.store.commitStep(rows)));
  reportCalls(context, turn, write.modelCalls);
  if (verdict.stop !== null) held.stop(verdict.stop);
  held.assertHeld();
}
