// A turn as it is answered: the view, and its cost where a price is known.
import type { TurnView } from '../store/views/turns.ts';
import type { ApiContext } from './context.ts';

export function turnAnswerOf(context: ApiContext, turn: TurnView): TurnView & { costUsd: number | null } {
  return { ...turn, costUsd: context.priceOf?.(turn.model, turn.usage) ?? null };
}
