// The second step of a turn: opens a new one, or resumes the one that an earlier worker left open.
import type { TurnContext } from '../context.ts';
import type { TurnState } from '../turn-state.ts';
import { resumeTurn } from './resume-turn.ts';
import { startTurn } from './start-turn.ts';

/** From `held` to `open`, or to `leaving` when there is nothing to open. */
export async function open(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (state.kind !== 'held') return state;
  const { claim, held } = state;
  const turn =
    claim.openTurn === null
      ? await startTurn(context, claim, held)
      : await resumeTurn(context, claim, claim.openTurn, held);
  return turn === null ? { kind: 'leaving', held, broken: null } : { kind: 'open', turn };
}
