// Which model a turn asks when the one that it asks does not answer: the next of its chain whose calls are let through. When there is
// none, the turn waits, and begins with the first model again.
import { modelOfRef, providerOf, refOfModel } from '../../../core/model-ref.ts';
import type { NewEvent } from '../../events/events.ts';
import type { TurnContext } from '../context.ts';
import { isOpen } from '../gate/gate.ts';
import { askInstead, fallbacksLeft } from '../open/asked-model.ts';
import { pickLogIds, type OpenedTurn } from '../opened-turn.ts';

/** The next model of a turn whose calls would be let through. */
export function openFallback(context: TurnContext, turn: OpenedTurn): string | undefined {
  return fallbacksLeft(turn).find((ref) => isOpen(context, modelOfRef(ref)));
}

/**
 * Steps down after a failed call; returns the event of it, to be committed with the call. Null: there is no model left that could be asked
 * now. `isRefused`: the model that was asked will not answer later either, so the turn steps down to one that is away, and waits for it.
 */
export function stepDown(
  context: TurnContext,
  turn: OpenedTurn,
  { code, text, isRefused }: { code: string; text: string; isRefused: boolean },
): NewEvent | null {
  const { request } = turn.journal.attempt;
  const ref = openFallback(context, turn) ?? (isRefused ? fallbacksLeft(turn)[0] : undefined);
  if (ref === undefined) return null;
  context.logger.warn({ ...pickLogIds(context, turn), code, fallback: ref }, 'Turn falls back to another model');
  stepTo(context, turn, ref);
  const data = { model: refOfModel(request), provider: providerOf(request), code, text, fallback: ref };
  return { type: 'model.blocked', data };
}

/** Before a turn is parked: it begins with its first model again when it is resumed. */
export function stepBack(context: TurnContext, turn: OpenedTurn): void {
  const [first] = turn.chain;
  if (turn.journal.attempt.fallback !== null && first !== undefined) stepTo(context, turn, first);
}

/** After a failed call: its row says which model is asked next, so that a worker that resumes the turn asks the same. */
function stepTo(context: TurnContext, turn: OpenedTurn, ref: string): void {
  const { journal } = turn;
  askInstead(context, turn, ref);
  const { unstoredCall } = journal.attempt;
  if (unstoredCall === null) return;
  journal.note({ unstoredCall: { ...unstoredCall, error: { ...unstoredCall.error, fallback: ref } } });
}
