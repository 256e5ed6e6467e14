// The fourth step of a turn: from its result to what its end stores. Nothing is written here.
import type { TurnContext } from '../context.ts';
import type { ResultState, TurnState } from '../turn-state.ts';
import { endAnswered, endCompacted, endFailed, endStopped, endYielded, type EndDecision } from './end-turn.ts';

/** From a result to `done`. */
export async function decide(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (!hasResult(state)) return state;
  return { kind: 'done', turn: state.turn, from: state, decision: await decisionFrom(context, state) };
}

function decisionFrom(context: TurnContext, state: ResultState): EndDecision | Promise<EndDecision> {
  switch (state.kind) {
    case 'answered':
      return endAnswered(context, state.turn, state.answered);
    case 'yielded':
      return endYielded(state.write);
    case 'compacted':
      return endCompacted(context, state.turn, state.reply);
    case 'failed':
      return endFailed(context, state.turn, state);
    case 'stopped':
      return endStopped(context, state.turn, state.why);
    default:
      return state satisfies never;
  }
}

function hasResult(state: TurnState): state is ResultState {
  const { kind } = state;
  return kind === 'answered' || kind === 'yielded' || kind === 'compacted' || kind === 'failed' || kind === 'stopped';
}
