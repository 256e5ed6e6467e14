// The third step of a turn: runs it until there is a result, under its deadline.
import { compactOnRequest } from '../compact/compact-turn.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import type { TurnState } from '../turn-state.ts';
import { runToolLoop } from './tool-loop.ts';

/** From `open` to the result of the loop. A turn that cannot be run at all has failed. */
export async function loop(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (state.kind !== 'open') return state;
  const { turn } = state;
  if (turn.failure !== null) return { kind: 'failed', turn, fault: turn.failure, isBare: false };
  const deadline = new TurnDeadline(turn);
  try {
    const result =
      turn.kind === 'compaction'
        ? { kind: 'compacted' as const, reply: await compactOnRequest(context, turn) }
        : await runToolLoop(context, turn);
    turn.held.assertHeld();
    return { ...result, turn };
  } finally {
    deadline.clear();
  }
}

/** Stops a turn at its deadline. One that is in the middle of a compaction gets the time limit of a compaction in addition, once. */
class TurnDeadline {
  #timer: NodeJS.Timeout;

  constructor(turn: OpenedTurn) {
    const { timeoutSeconds, compaction } = turn.agent;
    const stop = (): void => {
      turn.held.stop({ kind: 'turn-timeout', message: `The turn took longer than ${timeoutSeconds} s.` });
    };
    this.#timer = setTimeout(() => {
      if (turn.journal.attempt.isCompacting && turn.kind !== 'compaction')
        this.#timer = setTimeout(stop, compaction.timeoutSeconds * 1000);
      else stop();
    }, timeoutSeconds * 1000);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}
