// The last step of a turn: ends it, parks it, or gives the lock back. Each is one statement.
import type { TurnContext } from '../context.ts';
import { parkTurn } from '../loop/await-model.ts';
import type { TurnState } from '../turn-state.ts';
import { storeEnd } from './store-end.ts';

/** From `done` to `ended`, from `parking` to `parked`, from `leaving` to `released`. */
export async function commit(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (state.kind === 'done') {
    const { turn, decision } = state;
    return { kind: 'ended', sessionId: turn.session.id, result: await storeEnd(context, turn, decision) };
  }
  if (state.kind === 'parking') return { kind: 'parked', ring: await parkTurn(context, state.turn, state.wish) };
  if (state.kind !== 'leaving') return state;
  const { sessionId, epoch } = state.held;
  return { kind: 'released', ring: await context.store.release({ sessionId, epoch }) };
}
