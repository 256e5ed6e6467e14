// The tool loop: ask, commit the answer with the intents of its calls, run them, commit their results, ask again, until an
// answer calls no tool. Starts where the journal ends: after a prompt, after results, or after an answer whose calls have
// no results yet.
import { listToolUses, type ToolUseBlock } from '../../../core/content.ts';
import type { NewEvent } from '../../events/events.ts';
import { storeStep } from '../store-step.ts';
import type { TurnContext } from '../context.ts';
import { nextAnswer } from './harness.ts';
import { modelEnded, turnResumed } from '../model-events.ts';
import { findHolds, heldWrite, resumeHolds } from './held-calls.ts';
import { findStandIns, isReadOnly, listPlanned, planFresh, planResumed, toIntents } from './plan-calls.ts';
import { beginTools, endReadOnlyBatch, endTools, skippedWrite, type BatchResult } from './run-tools.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { findSteering } from './steer-turn.ts';
import { pausedWrite } from './paused-answer.ts';
import { correctionWrite } from './structured-answer.ts';
import { TurnFailed, TurnStopped } from '../turn-stop.ts';
import { joined, newEntry, NO_ROWS, type AnsweredCall, type TurnWrite } from '../turn-write.ts';

/**
 * How the loop ends. Nothing of it is committed yet: that is the end of the turn, one statement with all of it. `answered`: with an
 * answer that calls no tool. `yielded`: a tool requested the end; the write has the results of its batch.
 */
export type ToolLoopResult = { kind: 'answered'; answered: AnsweredCall } | { kind: 'yielded'; write: TurnWrite };

export async function runToolLoop(context: TurnContext, turn: OpenedTurn): Promise<ToolLoopResult> {
  let yielded = await finishOpenCalls(context, turn);
  for (;;) {
    if (yielded !== null) return { kind: 'yielded', write: yielded };
    // What a batch of the provider answers is the history as it was: messages that have arrived since join after the answer.
    const steering = turn.journal.attempt.hop === null ? await findSteering(context, turn) : null;
    if (steering !== null) await storeStep(context, turn, steering);
    stopAtBoundary(context, turn);
    if (turn.journal.at.progress.steps >= turn.agent.maxSteps) {
      throw new TurnFailed('max_steps', `The turn did not end within ${turn.agent.maxSteps} steps (maxSteps).`);
    }
    for (const { prepare } of context.features) await prepare?.(context, turn);
    const answered = await nextAnswer(context, turn);
    const { answer } = answered;
    const calls = listToolUses(answer.content);
    if (calls.length === 0) {
      const next = answer.stopReason === 'pause_turn' ? pausedWrite() : await correctionWrite(context, turn, answer);
      if (next === null) return { kind: 'answered', answered };
      await storeStep(context, turn, joined(await answerWrite(context, turn, answered), next));
      continue;
    }
    yielded = await takeStep(context, turn, answered, calls);
  }
}

/**
 * Commits an answer that calls tools, runs them, and commits their results: two writes, or one when all are read-only. A tool that
 * ends the turn leaves the last of them to that end: it is returned.
 */
async function takeStep(
  context: TurnContext,
  turn: OpenedTurn,
  answered: AnsweredCall,
  calls: ToolUseBlock[],
): Promise<TurnWrite | null> {
  const { answer } = answered;
  const step = turn.journal.at.progress.steps + 1;
  const started = calls.map((call): NewEvent => ({
    type: 'tool.started',
    data: { callId: call.id, name: call.name, step },
  }));
  const standIns = await findStandIns(context, turn, calls);
  const holds = await findHolds(context, turn, listPlanned(turn, answer, { calls, standIns }));
  const plans = planFresh(turn, answer, { calls, standIns, holds, nowMs: context.clock.monotonicMs() });
  const reading = isReadOnly(plans) ? beginTools(context, turn, plans, { step, call: answered.call }) : null;
  const answerRows = await answerWrite(context, turn, answered);
  const write = { ...answerRows, events: [...answerRows.events, ...started] };
  const done = reading === null ? null : await endReadOnlyBatch(turn, reading);
  if (done !== null) return await commitUnlessLast(context, turn, { ...done, write: joined(write, done.write) });
  await storeStep(context, turn, { ...write, toolIntents: toIntents(plans, step), ...heldWrite(plans, step) });
  if (reading === null) {
    // What the user says now comes before tools that have not begun.
    const steering = await findSteering(context, turn);
    if (steering !== null) {
      await storeStep(context, turn, joined(skippedWrite(turn, plans, step), steering));
      return null;
    }
  }
  const end = await endTools(context, turn, reading ?? beginTools(context, turn, plans, { step }));
  return await commitUnlessLast(context, turn, end);
}

/** Commits the end of a batch; when a tool ends the turn with it, it is returned instead. */
async function commitUnlessLast(
  context: TurnContext,
  turn: OpenedTurn,
  { write, endsTurn }: BatchResult,
): Promise<TurnWrite | null> {
  if (endsTurn) return write;
  await storeStep(context, turn, write);
  return null;
}

/** The part of a write that every answer has in common: entry, call, and the text that was not streamed out yet. */
export async function answerWrite(
  context: TurnContext,
  turn: OpenedTurn,
  { answer, call, resumed }: AnsweredCall,
): Promise<TurnWrite> {
  const deltas = await context.deltas.take({ sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id });
  const { progress } = turn.journal.at;
  return {
    ...NO_ROWS,
    entries: answer.content.length > 0 ? [newEntry('answer', 'assistant', answer.content)] : [],
    modelCalls: [call],
    totals: { steps: progress.steps + 1 },
    events: [
      ...(resumed ?? []),
      ...deltas.map(({ type, data }) => ({ type, data: { ...data } })),
      modelEnded(turn, call),
    ],
  };
}

/** An earlier worker may have left an answer whose calls have no results: they come first. Returns as `takeStep` does. */
async function finishOpenCalls(context: TurnContext, turn: OpenedTurn): Promise<TurnWrite | null> {
  const last = turn.journal.at.lastEntry;
  if (last.kind !== 'answer') return null;
  const calls = listToolUses(last.content);
  if (calls.length === 0) return null;
  const step = turn.journal.at.progress.steps;
  const holds = await resumeHolds(context, turn, calls);
  const standIns = await findStandIns(context, turn, calls);
  const plans = planResumed(turn, calls, { standIns, holds, nowMs: context.clock.monotonicMs() });
  // The rows of the calls that wait are there already.
  const toolIntents = toIntents(
    plans.filter(({ kind }) => kind === 'run'),
    step,
  );
  // Running a call again is an intent of its own, committed before it runs.
  if (toolIntents.length > 0) await storeStep(context, turn, { ...NO_ROWS, toolIntents });
  const { write, endsTurn } = await endTools(context, turn, beginTools(context, turn, plans, { step }));
  const { park } = turn.journal.at;
  const resumed = park === null ? [] : [turnResumed(park)];
  const end = await commitUnlessLast(context, turn, {
    write: { ...write, events: [...resumed, ...write.events] },
    endsTurn,
  });
  if (holds.failure !== null) throw holds.failure;
  return end;
}

/** A worker that is leaving hands the turn over between two steps. */
function stopAtBoundary(context: TurnContext, turn: OpenedTurn): void {
  turn.held.assertHeld();
  if (context.isDraining()) throw new TurnStopped({ kind: 'shutdown', message: 'The worker is shutting down.' });
}
