// Which model a turn asks when the one that it asks does not answer: the next of its chain whose provider lets calls through. When there is
// none, the turn waits (await-model.ts), and begins with the first model again.
import type { ModelCallRow } from '../../store/journal.ts';
import { modelOfRef } from '../../core/model-ref.ts';
import { enterGate, providerOf } from './await-model.ts';
import type { TurnContext } from '../context.ts';
import type { Pass } from './provider-gate.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { fallbacksLeft, modelBlocked, stepTo } from './step-down.ts';
import type { NewEvent } from '../../store/events.ts';

/** The right to make the next call, of the next model where the provider of the one that is asked is away. Throws as `enterGate` does. */
export function enterFirstOpenGate(context: TurnContext, turn: OpenedTurn): Pass {
  const fallbacks = fallbacksLeft(turn);
  if (fallbacks.length === 0 || context.gate.isOpen(providerOf(turn.journal.attempt.request)))
    return enterGate(context, turn);
  for (const ref of fallbacks) {
    if (!context.gate.isOpen(providerOf(modelOfRef(ref)))) continue;
    stepTo(context, turn, ref);
    break;
  }
  return enterGate(context, turn);
}

/** A step down to another model, to be committed with the call that has failed. */
export interface StepDown {
  row: ModelCallRow;
  event: NewEvent;
}

/**
 * Steps down after a failed call; null: there is no model left that could be asked now. `isRefused`: the model that was asked will not answer
 * later either, so the turn steps down to one that is away, and waits for it.
 */
export function stepDown(
  context: TurnContext,
  turn: OpenedTurn,
  { row, code, text, isRefused }: { row: ModelCallRow; code: string; text: string; isRefused: boolean },
): StepDown | null {
  const left = fallbacksLeft(turn);
  const ref = left.find((one) => context.gate.isOpen(providerOf(modelOfRef(one)))) ?? (isRefused ? left[0] : undefined);
  if (ref === undefined) return null;
  const event = modelBlocked(turn, { code, text }, ref);
  context.logger.warn(
    { turnId: turn.id, sessionKey: turn.session.key, code, fallback: ref },
    'Turn falls back to another model',
  );
  stepTo(context, turn, ref);
  return { row: withFallback(row, ref), event };
}

/** Before a turn is parked: it begins with its first model again when it is resumed. */
export function stepBack(context: TurnContext, turn: OpenedTurn): void {
  const [first] = turn.chain;
  const { fallback, unstoredCall } = turn.journal.attempt;
  if (fallback === null || first === undefined) return;
  stepTo(context, turn, first);
  if (unstoredCall !== null) turn.journal.note({ unstoredCall: withFallback(unstoredCall, first) });
}

/** The row says which model is asked next, so that a worker that resumes the turn asks the same. */
function withFallback(row: ModelCallRow, fallback: string): ModelCallRow {
  return { ...row, error: { ...row.error, fallback } };
}
