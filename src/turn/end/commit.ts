// The last step of a turn: ends it, parks it, or gives the lock back. Each is one statement.
import type { TurnContext } from '../context.ts';
import { parkTurn } from '../loop/await-model.ts';
import type { TurnState } from '../turn-state.ts';
import { storeBrokenCall, storeEnd } from './store-end.ts';

/** From `done` to `ended`, from `parking` to `parked`, from `leaving` to `released`. */
export async function commit(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (state.kind === 'done') {
    const { after } = await storeEnd(context, state.turn, state.decision);
    return { kind: 'ended', after };
  }
  if (state.kind === 'parking') return { kind: 'parked', after: await parkTurn(context, state.turn, state.wish) };
  if (state.kind !== 'leaving') return state;
  const { sessionId, epoch } = state.held;
  if (state.broken !== null && !(await storeBrokenCall(context, state.broken))) return { kind: 'lost' };
  const { after } = await context.store.release({ sessionId, epoch });
  return { kind: 'released', after };
}
