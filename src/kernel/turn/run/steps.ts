// The steps of a turn (run-turn.ts): each takes a state to the next, and returns a state that it is not made for unchanged.
import type { TurnContext } from '../context.ts';
import { pickKnown } from '../transcript-cache.ts';
import type { TurnState, ResultState } from './turn-state.ts';
import { resumeTurn } from '../open/resume-turn.ts';
import { startTurn } from '../open/start-turn.ts';
import { compactOnRequest } from '../compact/compact-when-full.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { runToolLoop } from '../loop/tool-loop.ts';
import { endAnswered, endCompacted, endFailed, endStopped, endYielded } from '../end/end-turn.ts';
import { storePark } from '../gate/store-park.ts';
import { storeBrokenCall, storeEnd } from '../end/store-end.ts';
import type { EndDecision } from '../turn-write.ts';

/** From `new` to `held`, or to the reason why there is nothing to do. */
export async function claim(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (state.kind !== 'new') return state;
  const { sessionId } = state;
  const askedAtMs = context.clock.monotonicMs();
  const kept = context.transcripts.take(sessionId);
  const { owner, leaseMs } = context.locks;
  const answer = await context.store.claim({ sessionId, owner, leaseMs, known: pickKnown(kept) });
  if (answer.kind === 'claimed') {
    context.models.learn(answer.blocks);
    const held = context.locks.hold(sessionId, answer.session.epoch, askedAtMs);
    return { kind: 'held', claim: { ...answer, kept }, held };
  }
  if (kept !== null) context.transcripts.keep(sessionId, kept);
  return answer;
}

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

/** From `open` to the result of the loop. A turn that cannot be run at all has failed. */
export async function loop(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (state.kind !== 'open') return state;
  const { turn } = state;
  if (turn.failure !== null) return { kind: 'failed', turn, fault: turn.failure, isBare: false };
  const endDeadline = startDeadline(turn);
  try {
    const result =
      turn.kind === 'compaction'
        ? { kind: 'compacted' as const, reply: await compactOnRequest(context, turn) }
        : await runToolLoop(context, turn);
    turn.held.assertHeld();
    return { ...result, turn };
  } finally {
    endDeadline();
  }
}

/** Stops a turn at its deadline, until the returned function is called. A turn that is compacting gets the time of a compaction in addition, once. */
function startDeadline({ agent, held, journal, kind }: OpenedTurn): () => void {
  const { timeoutSeconds, compaction } = agent;
  const stop = (): void =>
    held.stop({ kind: 'turn-timeout', message: `The turn took longer than ${timeoutSeconds} s.` });
  let timer = setTimeout(() => {
    const isLonger = journal.attempt.isCompacting && kind !== 'compaction';
    if (isLonger) timer = setTimeout(stop, compaction.timeoutSeconds * 1000);
    else stop();
  }, timeoutSeconds * 1000);
  return () => clearTimeout(timer);
}

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

/** From `done` to `ended`, from `parking` to `parked`, from `leaving` to `released`. */
export async function commit(context: TurnContext, state: TurnState): Promise<TurnState> {
  if (state.kind === 'done') {
    const { after } = await storeEnd(context, state.turn, state.decision);
    return { kind: 'ended', after };
  }
  if (state.kind === 'parking') return { kind: 'parked', after: await storePark(context, state.turn, state.wait) };
  if (state.kind !== 'leaving') return state;
  const { sessionId, epoch } = state.held;
  if (state.broken !== null && !(await storeBrokenCall(context, state.broken))) return { kind: 'lost' };
  const { after } = await context.store.release({ sessionId, epoch });
  return { kind: 'released', after };
}
