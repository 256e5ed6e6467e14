// The first step of a turn: takes the session's lock, and with it everything that the turn is opened from.
import type { TurnContext } from '../context.ts';
import { knownOf } from '../transcript-cache.ts';
import type { TurnState } from '../turn-state.ts';

/** From `new` to `held`, or to the reason why there is nothing to do. */
export async function claim(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (state.kind !== 'new') return state;
  const { sessionId } = state;
  const askedAtMs = context.clock.monotonicMs();
  const kept = context.transcripts.take(sessionId);
  const { owner, leaseMs } = context.locks;
  const answer = await context.store.claim({ sessionId, owner, leaseMs, known: knownOf(kept) });
  if (answer.kind === 'claimed') {
    context.learnBlocks(answer.blocks);
    const held = context.locks.hold(sessionId, answer.session.epoch, askedAtMs);
    return { kind: 'held', claim: { ...answer, kept }, held };
  }
  if (kept !== null) context.transcripts.keep(sessionId, kept);
  return answer;
}
