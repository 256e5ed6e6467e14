// Turns an error into the end of its turn, or throws it on when it is none. A fault of the database that passes leaves the turn open;
// one that does not pass would meet every attempt, each with a model call of its own, so it ends the turn.
import { isPassingFault, refusalOf } from '../../store/database.ts';
import type { FinishResult } from '../../store/journal/finish-turn.ts';
import type { TurnContext } from '../context.ts';
import { finishFailed, finishStopped, finishUnstored } from './end-turn.ts';
import type { RunningTurn } from '../running-turn.ts';
import { TurnFailed, TurnStopped } from '../turn-end.ts';

/** Ends a turn after `error`. Throws what is not an end of the turn: a lost lock, a shutdown, a fault of the database that passes. */
export async function endAfterFault(context: TurnContext, turn: RunningTurn, error: unknown): Promise<FinishResult> {
  try {
    return await endFor(context, turn, error);
  } catch (refusal) {
    if (refusal instanceof TurnStopped || isPassingFault(refusal)) throw refusal;
    // What the end takes along may be what the database refuses. An end that takes nothing along must succeed.
    return await finishUnstored(context, turn, unforeseen(context, turn, refusal));
  }
}

async function endFor(context: TurnContext, turn: RunningTurn, error: unknown): Promise<FinishResult> {
  if (error instanceof TurnFailed) return await finishFailed(context, turn, error);
  if (!(error instanceof TurnStopped)) {
    // The database's passing faults are not the turn's: it stays open. Anything else would meet every attempt.
    if (isPassingFault(error)) throw error;
    return await finishFailed(context, turn, unforeseen(context, turn, error));
  }
  switch (error.reason.kind) {
    case 'stopped':
    case 'interrupted':
    case 'rolledBack':
    case 'turn-timeout':
      return await finishStopped(context, turn, error.reason);
    case 'shutdown':
    case 'parked':
    case 'lock-lost':
      throw error;
  }
}

/** What a turn fails with after an error that is neither the model's nor a stop. */
function unforeseen(context: TurnContext, turn: RunningTurn, error: unknown): TurnFailed {
  context.logger.error(
    { err: error, turnId: turn.id, sessionKey: turn.session.key },
    'Turn failed with an unexpected error',
  );
  const refusal = refusalOf(error);
  if (refusal === null) return new TurnFailed('internal_error', String(error), error);
  const message = `The database refused to store a step of this turn (${refusal}). The step was not kept; send the message again.`;
  return new TurnFailed('commit_failed', message, error);
}
