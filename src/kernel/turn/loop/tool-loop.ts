// The tool loop: ask, commit the answer with the intents of its calls, run them, commit their
// results, ask again, until an answer calls no tool. Starts where the journal ends: after a prompt,
// after results, or after an answer whose calls have no results yet.
import { listToolUses, type ToolUseBlock } from '../../../core/content.ts';
import type { NewEvent } from '../../events/events.ts';
import { storeStep } from '../store-step.ts';
import type { TurnContext } from '../context.ts';
import { modelEnded, turnResumed } from '../turn-log.ts';
import { findHolds, heldWrite, resumeHolds } from './held-calls.ts';
import { findStandIns, isReadOnly, listPlanned, planFresh, planResumed, toIntents } from './plan-calls.ts';
import { beginTools, endReadOnlyBatch, endTools, skippedWrite, type BatchResult } from './run-tools.ts';
import { type OpenedTurn, estimateNextRequest } from '../opened-turn.ts';
import { pausedWrite, correctionWrite } from './judge-answer.ts';
import { TurnFailed, TurnStopped } from '../turn-stop.ts';
import { joined, newEntry, NO_ROWS, type AnsweredCall, type TurnWrite } from '../position.ts';
import { cutHead, storableText } from '../../../core/text.ts';
import { BUILT_IN_HARNESS } from '../../../core/harness-selection.ts';
import { toMicros } from '../../../core/prices.ts';
import { HarnessError, type CheckedHarness } from '../../../plugins/harness.ts';
import { askModel, beginCall, nextRequest } from './ask-model.ts';
import { createInputTransform } from '../../../model/stream/replace-text.ts';
import { abortedBy, CallRecord, type BrokenCall } from '../model-call.ts';
import { harnessTarget, missingHarness } from '../open/asked-model.ts';
import { readAnnouncement, announcementText } from '../../../core/subagents.ts';
import { buildSteerPrompt } from '../../../prompt/message-prompt.ts';
import { keyOfOptions, readOptions, optionsOfInputs } from '../../../core/input-options.ts';
import type { InboundMessage } from '../../../core/inbound.ts';
import type { MessageId } from '../../../core/ids.ts';
import { selectSteers } from '../../../core/queue-mode.ts';
import { newId } from '../../../ids.ts';
import type { WaitingInput } from '../../sessions/claim-session.ts';
import type { TakenSteers } from '../journal/journal.ts';
import { readWaitingInputs } from '../../inbox/last-inputs.ts';
import { deriveProvenance } from '../open/open-view.ts';
import { computeRoom, canSendMedia, runInSlices } from '../open/write-prompt.ts';
import { pickPromptZone } from '../../../config/agent-settings.ts';

/**
 * How the loop ends. Nothing of it is committed yet: that is the end of the turn, one statement
 * with all of it. `answered`: with an answer that calls no tool. `yielded`: a tool requested the
 * end; the write has the results of its batch.
 */
export type ToolLoopResult = { kind: 'answered'; answered: AnsweredCall } | { kind: 'yielded'; write: TurnWrite };

export async function runToolLoop(context: TurnContext, turn: OpenedTurn): Promise<ToolLoopResult> {
  let yielded = await finishOpenCalls(context, turn);
  for (;;) {
    if (yielded !== null) return { kind: 'yielded', write: yielded };
    // What a batch of the provider answers is the history as it was: messages that have arrived
    // since join after the answer.
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
 * Commits an answer that calls tools, runs them, and commits their results: two writes, or one when
 * all are read-only. A tool that ends the turn leaves the last of them to that end: it is returned.
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

/**
 * The part of a write that every answer has in common: entry, call, and the text that was not
 * streamed out yet.
 */
export async function answerWrite(
  context: TurnContext,
  turn: OpenedTurn,
  { answer, call, resumed }: AnsweredCall,
): Promise<TurnWrite> {
  const deltas = await context.store.deltas.take({
    sessionId: turn.session.id,
    epoch: turn.held.epoch,
    turnId: turn.id,
  });
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

/**
 * An earlier worker may have left an answer whose calls have no results: they come first. Returns
 * as `takeStep` does.
 */
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

// Who gives the next answer of a turn. The built-in harness calls the model; a plugin's harness is
// called instead of it, and its answers are committed by the same journal.

/** The next answer of a turn, from its harness. Throws as `askModel` does. */
export async function nextAnswer(context: TurnContext, turn: OpenedTurn): Promise<AnsweredCall> {
  const id = turn.journal.attempt.requests.rules.view.harness?.id ?? BUILT_IN_HARNESS;
  if (id === BUILT_IN_HARNESS) {
    for (const { ask } of context.features) {
      const answered = await ask?.(context, turn);
      if (answered) return answered;
    }
    return await askModel(context, turn);
  }
  const harness = context.plugins.harnesses.find((one) => one.id === id);
  if (harness === undefined) throw missingHarness(id);
  return await askHarness(context, turn, harness);
}

async function askHarness(context: TurnContext, turn: OpenedTurn, harness: CheckedHarness): Promise<AnsweredCall> {
  await beginCall(context, turn, 'harness');
  const { messages, callView } = nextRequest(turn);
  const { request, requests } = turn.journal.attempt;
  const callNo = turn.journal.at.progress.calls;
  const record = new CallRecord(context, turn, { callNo, view: callView, model: request });
  const target = { sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id };
  const sent = createInputTransform(requests.rules.view)({ system: request.system, messages: [...messages] });
  try {
    const reading = await harness.run({
      ...harnessTarget(request),
      sessionKey: turn.session.key,
      sessionId: turn.session.id,
      agentId: turn.agent.id,
      turnId: turn.id,
      callNo,
      workspaceDir: turn.agent.workspaceDir,
      thinking: turn.thinking,
      system: sent.system.map(({ text }) => text).join('\n\n'),
      messages: sent.messages,
      tools: request.tools,
      signal: turn.held.signal,
      onText: (text) => context.store.deltas.add(target, { type: 'model.delta', data: { call: callNo, text } }),
    });
    const { content, stopReason, usage, costUsd } = reading;
    const answer = { id: `harness_${turn.id}_${callNo}`, model: request.model, content, stopReason, usage };
    return { answer, call: record.ended({ answer }, { costMicros: costUsd === null ? null : toMicros(costUsd) }) };
  } catch (error) {
    turn.journal.note({ unstoredCall: record.ended(brokenBy(error), { costMicros: null }) });
    if (!(error instanceof HarnessError)) throw error;
    throw new TurnFailed(error.code, error.message, error);
  }
}

function brokenBy(error: unknown): BrokenCall {
  if (error instanceof TurnStopped) return abortedBy(error.reason);
  const message = error instanceof Error ? error.message : String(error);
  return { status: 'failed', error: { code: 'harness_failed', message: cutHead(storableText(message), 2000) } };
}

// Steering: messages that reach a turn while it runs. Each write of the turn returns the number of
// the last message that is meant for it; when that is new, the worker reads the inbox. What it
// finds is recorded as an entry of the turn, and the rows are stamped with the turn in the same
// write (G1): a crash leaves either both or neither. Messages that arrive too late are the next
// turn, from the same rows.

/**
 * The write by which messages join the turn now; null when there are none. No round trip unless a
 * message for this turn has come.
 */
export async function findSteering(context: TurnContext, turn: OpenedTurn): Promise<TurnWrite | null> {
  const { journal } = turn;
  const { steerSeq } = journal.at;
  if (steerSeq <= journal.attempt.steersSeen) return null;
  const waiting = await readWaitingInputs(context.store.database, turn.session.id);
  const { inputs, isCut } = selectSteers(waiting, {
    route: routeOfTurn(turn) ?? routeOfAny(turn, waiting),
    room: computeRoom(context, turn.session, turn.agent, estimateNextRequest(turn)),
  });
  // The remaining messages are read again at the next step.
  journal.note({ steersSeen: isCut ? Math.min(steerSeq, inputs.at(-1)?.seq ?? steerSeq) : steerSeq });
  return inputs.length === 0 ? null : await runInSlices(context.clock, steeringWrite(context, turn, inputs));
}

/** The route that the turn answers (G6); undefined for a cron tick or a heartbeat. */
function routeOfTurn({ journal }: OpenedTurn): string | undefined {
  return journal.at.inputs.find(({ kind }) => kind !== 'cron' && kind !== 'heartbeat')?.route;
}

/** A message of any route may join those, if its options are those of the turn. */
function routeOfAny({ journal }: OpenedTurn, [first]: readonly WaitingInput[]): string {
  const isFitting = keyOfOptions(readOptions(first?.body)) === keyOfOptions(optionsOfInputs(journal.at.inputs));
  return first !== undefined && isFitting ? first.route : '';
}

/** Yields between the messages, because they may be long. */
function* steeringWrite(
  { config }: TurnContext,
  turn: OpenedTurn,
  inputs: readonly WaitingInput[],
): Generator<undefined, TurnWrite> {
  const zone = pickPromptZone(turn.agent);
  const entries: TurnWrite['entries'] = [];
  for (const input of inputs) {
    const announcement = readAnnouncement(input.body);
    const message = input.body as InboundMessage;
    const text =
      announcement === null
        ? buildSteerPrompt(message, {
            zone,
            canSendMedia: canSendMedia(config, turn.toolset, message),
            isTranscribing: config.tools.transcribe !== undefined,
          }).text
        : announcementText(announcement);
    const provenance = deriveProvenance([input], { ownerIds: config.owner.ids });
    const entry = newEntry('steer', 'user', [{ type: 'text', text }]);
    entries.push(provenance === null ? entry : { ...entry, provenance });
    yield;
  }
  const ids = inputs.map(({ id }) => id);
  return {
    ...NO_ROWS,
    entries,
    events: [{ type: 'steer.injected', data: { messageIds: ids } }],
    joining: { inputs, steers: { ids, followUps: inputs.flatMap(toFollowUps) } },
  };
}

// Steered now and answered again in its own turn: that turn's input is new, and has this message as
// its only cause.
function toFollowUps({ id, mode, body, route }: WaitingInput): TakenSteers['followUps'] {
  if (mode !== 'steer-backlog') return [];
  return [{ id: newId<MessageId>(), causeKey: `follow-up:${id}`, body: JSON.stringify(body), route }];
}
