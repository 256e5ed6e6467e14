// The tool loop: ask, commit the answer with the intents of its calls, run them, commit their results, ask again, until an
// answer calls no tool. Begins wherever the journal ends: behind a prompt, behind results, or behind an answer whose calls
// have no results yet.
import { toolUsesOf } from '../core/content.ts';
import type { NewEvent } from '../store/events.ts';
import { askModel, type Answered } from './ask-model.ts';
import type { TurnContext } from './context.ts';
import { intentsOf, planFresh, planResumed, runTools } from './run-tools.ts';
import { commit, newEntry, type Moment, type RunningTurn } from './running-turn.ts';
import { TurnFailed, TurnStopped } from './turn-end.ts';

/** Runs a turn to its last answer, which is not committed yet: that is the end of the turn, one statement with all of it. */
export async function runToolLoop(context: TurnContext, turn: RunningTurn): Promise<Answered> {
  await finishOpenCalls(context, turn);
  for (;;) {
    stopAtBoundary(context, turn);
    if (turn.progress.steps >= turn.agent.maxSteps) {
      throw new TurnFailed('max_steps', `The turn took ${turn.agent.maxSteps} steps without coming to an end.`);
    }
    const answered = await askModel(context, turn);
    const { answer } = answered;
    const calls = toolUsesOf(answer.content);
    if (calls.length === 0) return answered;
    const moment = await answerMoment(context, turn, answered);
    const step = turn.progress.steps + 1;
    const toolIntents = intentsOf(turn, answer, calls, step);
    const started = calls.map((call): NewEvent => ({
      type: 'tool.started',
      data: { callId: call.id, name: call.name, step },
    }));
    await commit(context, turn, { ...moment, toolIntents, events: [...(moment.events ?? []), ...started] });
    await runTools(context, turn, planFresh(turn, answer, calls), step);
  }
}

/** The part of a write that every answer has in common: entry, call, totals, and the text that was not streamed out yet. */
export async function answerMoment(
  context: TurnContext,
  turn: RunningTurn,
  { answer, call }: Answered,
): Promise<Moment> {
  const target = { sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id };
  const delta = await context.deltas.take(target);
  const { usage } = answer;
  turn.contextTokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens;
  return {
    entries: answer.content.length > 0 ? [newEntry('answer', 'assistant', answer.content)] : [],
    modelCalls: [call],
    progress: {
      steps: turn.progress.steps + 1,
      inputTokens: turn.progress.inputTokens + usage.inputTokens,
      outputTokens: turn.progress.outputTokens + usage.outputTokens,
      cacheReadTokens: turn.progress.cacheReadTokens + usage.cacheReadTokens,
      cacheWriteTokens: turn.progress.cacheWriteTokens + usage.cacheWriteTokens,
    },
    events: [
      ...(delta === null ? [] : [{ type: 'model.delta' as const, data: { ...delta } }]),
      { type: 'model.ended', data: { call: call.callNo, status: 'ok', stopReason: answer.stopReason, usage } },
    ],
  };
}

/** An earlier worker may have left an answer whose calls have no results: they come first. */
async function finishOpenCalls(context: TurnContext, turn: RunningTurn): Promise<void> {
  const last = turn.lastEntry;
  if (last.kind !== 'answer') return;
  const calls = toolUsesOf(last.content);
  if (calls.length === 0) return;
  const step = turn.progress.steps;
  const plans = planResumed(turn, calls);
  const again = plans.filter((plan) => plan.kind === 'run');
  if (again.length > 0) {
    // Running a call again is an intent of its own, committed before it runs.
    const toolIntents = again.map(({ call, ordinal, tool }) => ({
      step,
      ordinal,
      callId: call.id,
      name: call.name,
      isIdempotent: tool.isIdempotent,
    }));
    await commit(context, turn, { toolIntents });
  }
  turn.mustCharge = false;
  await runTools(context, turn, plans, step);
}

/** A worker that is leaving hands the turn over between two steps. */
function stopAtBoundary(context: TurnContext, turn: RunningTurn): void {
  turn.held.assertHeld();
  if (context.isDraining()) throw new TurnStopped({ kind: 'shutdown', message: 'The worker is shutting down.' });
}
