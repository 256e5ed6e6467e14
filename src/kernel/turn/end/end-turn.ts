// How a turn ends: with its last answer, with a failure, or stopped. Each is a decision, which
// `storeEnd` stores in one commit that also settles the messages, puts the reply into the outbox
// and gives the lock back.
import { hasEffects } from '../../../core/session-key.ts';
import type { SessionStop } from '../../../core/statuses.ts';
import { joinText, listToolUses } from '../../../core/content.ts';
import { faultOfStop } from '../../../core/failure.ts';
import type { ModelAnswer } from '../../../core/model-request.ts';
import { withReasoning, answeredWith, decideOutcome } from '../../../core/reply.ts';
import type { TurnContext } from '../context.ts';
import { modelEnded, turnEnded, reportCalls, reportTurnEnd } from '../turn-log.ts';
import {
  settleAnswer,
  settleCompacted,
  settleFault,
  commandDeliveries,
  failureDeliveries,
  replyDeliveries,
} from './decide-outreach.ts';
import { type OpenedTurn, pickLogIds } from '../opened-turn.ts';
import { repliesWithReasoning, buildReplyRules, continuedText, checkAnswer } from '../loop/judge-answer.ts';
import { stoppedWrite } from '../loop/run-tools.ts';
import { answerWrite } from '../loop/tool-loop.ts';
import { type StopReason, type TurnFailed, CALLER_TIMEOUT, TurnStopped } from '../turn-stop.ts';
import {
  joined,
  NO_ROWS,
  type AnsweredCall,
  type EndDecision,
  type TurnResult,
  type TurnWrite,
  lastTokensAfter,
  progressAfter,
} from '../position.ts';
import type { TurnEnd } from '../journal/journal.ts';
import { newId } from '../../../ids.ts';
import { attemptEffects } from '../../effects/carry-out.ts';
import type { TurnEffect } from '../../effects/turn-effects.ts';
import type { FinishResult } from '../journal/finish-turn.ts';
import { modelName, refOfModel } from '../../../core/models.ts';
import { isPassingFault } from '../../../database/passing-faults.ts';
import { mergeAll } from '../../queue/rings.ts';
import { toCap } from '../open/write-prompt.ts';
import { given } from '../../../core/json.ts';

/** Failures of a prompt that a shorter one may not have. */
const FAULTS_OF_LENGTH = new Set(['model_request_too_large', 'model_context_overflow', 'blocked']);

/** Ends a turn with its last answer. */
export async function endAnswered(
  context: TurnContext,
  turn: OpenedTurn,
  answered: AnsweredCall,
): Promise<EndDecision> {
  const write = await answerWrite(context, turn, answered);
  const { answer } = answered;
  const error = toError(answer);
  if (error !== null) return { write, result: failureResult(context, turn, error) };
  const output = await checkAnswer(context, turn, answer);
  if (output?.kind === 'unfit') {
    return { write, result: failureResult(context, turn, unfitError(answer, output.faults)) };
  }
  const said = continuedText(turn.transcript.entries, joinText(answer.content));
  const decided = output === null ? decideOutcome(said, buildReplyRules(context, turn)) : answeredWith(output.text);
  const { outcome, delivered, outreach } = settleAnswer(context, turn, { outcome: decided, entries: write.entries });
  const { replyTarget, ...ended } = outcome;
  for (const { judge } of context.features) {
    const judged = judge?.(context, turn, { write, reply: ended.reply });
    if (judged) return judged;
  }
  const shown = (text: string | null): string | null =>
    text === null || output !== null || !repliesWithReasoning(turn)
      ? text
      : withReasoning(text, answer.content, context.config.reasoning.enabled);
  const text = shown(delivered);
  const deliveries = text === null ? [] : replyDeliveries(context, turn, { text, replyTarget });
  return { write, result: { ...ended, reply: shown(ended.reply), error: null, deliveries, outreach } };
}

function unfitError({ stopReason }: ModelAnswer, faults: readonly string[]): { code: string; message: string } {
  if (stopReason === 'refusal') return { code: 'model_refused', message: 'The model stopped with refusal.' };
  const cause =
    stopReason === 'end_turn' || stopReason === 'stop_sequence'
      ? 'also after one correction'
      : `the model stopped with ${stopReason}`;
  return {
    code: 'output_invalid',
    message: `The answer does not fit the schema of responseFormat (${cause}): ${faults.join('; ')}.`,
  };
}

/** What is wrong with a last answer by the reason of its end; null: nothing. */
function toError(answer: ModelAnswer): { code: string; message: string } | null {
  const { stopReason, content } = answer;
  const message = `The model stopped with ${stopReason}.`;
  if (stopReason === 'model_context_window_exceeded') return { code: 'model_context_overflow', message };
  if (stopReason === 'refusal' && joinText(content) === '') return { code: 'model_refused', message };
  return faultOfStop(answer);
}

/**
 * Ends a turn whose tools have requested it: the session now waits for an input that wakes it. The
 * results of the batch are in `write`, so the next model call contains them.
 */
export function endYielded(write: TurnWrite): EndDecision {
  return { write, result: { status: 'silent', messageStatus: 'silent', reply: null, error: null } };
}

/**
 * Ends a turn that only compacted its session: its reply goes to the requester, not to a channel.
 */
export function endCompacted(context: TurnContext, turn: OpenedTurn, reply: string): EndDecision {
  return {
    write: NO_ROWS,
    result: {
      status: 'completed',
      messageStatus: 'answered',
      reply,
      error: null,
      // The hint that an earlier turn was stopped is for the next prompt.
      wasAborted: turn.session.wasAborted,
      deliveries: commandDeliveries(context, turn, reply),
      outreach: settleCompacted(context, turn),
    },
  };
}

/**
 * Ends a turn that cannot succeed. A bare end takes along only its error, so that no refused value
 * is sent again; tool calls without results still get one each.
 */
export async function endFailed(
  context: TurnContext,
  turn: OpenedTurn,
  { fault, isBare }: { fault: TurnFailed; isBare: boolean },
): Promise<EndDecision> {
  const { code, message } = fault;
  const error = { code, message };
  const isPromptLast = turn.transcript.entries.at(-1)?.kind === 'prompt';
  if (isPromptLast && !isBare && FAULTS_OF_LENGTH.has(code) && turn.journal.at.inputs.length > 1)
    return await endSplit(context, turn, fault);
  const open = openCallsWrite(turn, message);
  return {
    write: isBare ? { ...open, storesView: false } : joined(open, await brokenCallWrite(context, turn)),
    result: { ...failureResult(context, turn, error), isBare, ...hideRefused(turn, code) },
  };
}

/**
 * Ends a turn whose messages are too long for one prompt: they wait again, and the next turn takes
 * the first half of them (G3, G5).
 */
async function endSplit(context: TurnContext, turn: OpenedTurn, { message, cause }: TurnFailed): Promise<EndDecision> {
  const { length } = turn.journal.at.inputs;
  const collectMax = Math.ceil(length / 2);
  const reason = cause instanceof Error ? cause.message : message;
  const error = {
    code: 'split',
    message: `The prompt of ${length} messages was too long for the model (${reason}). They wait again, and the next turn takes up to ${collectMax} of them.`,
  };
  return {
    write: await brokenCallWrite(context, turn),
    result: {
      status: 'aborted',
      messageStatus: 'cancelled',
      reply: null,
      error,
      // The hint that an earlier turn was stopped is for the next prompt.
      wasAborted: turn.session.wasAborted,
      hides: 'refused',
      hidesFromSeq: turn.journal.attempt.requests.rules.promptSeq,
      collectMax,
      isInterrupted: true,
    },
  };
}

function failureResult(context: TurnContext, turn: OpenedTurn, error: { code: string; message: string }): TurnResult {
  const deliveries = failureDeliveries(context, turn, error);
  const outreach = settleFault(context, turn, { status: 'failed', message: error.message });
  return { status: 'failed', messageStatus: 'failed', reply: null, error, deliveries, outreach };
}

/** Ends a turn that a person or a deadline stopped. */
export async function endStopped(
  context: TurnContext,
  turn: OpenedTurn,
  reason: SessionStop | Extract<StopReason, { kind: 'turn-timeout' }>,
): Promise<EndDecision> {
  const isStop = reason.kind !== 'turn-timeout';
  const isRolledBack = reason.kind === 'rolledBack';
  const isInterrupted = isRolledBack || reason.kind === 'interrupted';
  const code = isInterrupted ? 'interrupted' : isStop ? 'aborted' : 'turn_timeout';
  const { message } = reason;
  const open = openCallsWrite(turn, message);
  const error = { code, message };
  return {
    write: joined(isRolledBack ? { ...open, entries: [] } : open, await brokenCallWrite(context, turn)),
    result: {
      status: isStop ? 'aborted' : 'timedOut',
      messageStatus: isStop ? 'cancelled' : 'failed',
      reply: null,
      error,
      // The person who stopped the turn knows that it has ended.
      deliveries: isStop ? [] : failureDeliveries(context, turn, error),
      // A rolled back turn leaves no trace for the model.
      wasAborted: isStop && !isRolledBack,
      hides: isRolledBack ? 'turn' : null,
      isInterrupted,
      outreach: settleFault(context, turn, { status: isStop ? 'killed' : 'timedOut', message }),
    },
  };
}

/** Tool calls without results get one each, so that the transcript stays well-formed. */
function openCallsWrite(turn: OpenedTurn, message: string): TurnWrite {
  const { lastEntry } = turn.journal.at;
  const calls = lastEntry.kind === 'answer' ? listToolUses(lastEntry.content) : [];
  return calls.length === 0 ? NO_ROWS : stoppedWrite(turn, calls, message);
}

/** A model call without an answer is closed. */
export async function brokenCallWrite(context: TurnContext, turn: OpenedTurn): Promise<TurnWrite> {
  const broken = turn.journal.attempt.unstoredCall;
  if (broken === null) return NO_ROWS;
  await context.store.deltas.take({ sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id });
  return { ...NO_ROWS, modelCalls: [broken], events: [modelEnded(turn, broken)] };
}

// What leaves the active path when the provider has refused a request: the part of it that no
// earlier request had. It would fail the turns after this one, too (docs/decisions/0009).

/** Failures that the same request would bring about again. */
const REFUSALS = new Set(['model_invalid_request', 'model_request_too_large', 'malformed_history']);
const FAULTS_OF_REQUEST = new Set([...REFUSALS, 'model_context_overflow', 'blocked']);

/**
 * The entries to hide after a failure with this code. After an answer of the turn those after its
 * prompt, which was accepted with it; else the prompt. A summary that no answer has followed is as
 * new as they are: it is undone with them. If the next request is refused in the same place, the
 * summary stays hidden; if there is none, what the turn before has said is at fault, too.
 */
export function hideRefused(turn: OpenedTurn, code: string): Pick<TurnEnd, 'hides' | 'hidesFromSeq' | 'hidesSummary'> {
  if (!FAULTS_OF_REQUEST.has(code)) return { hides: null };
  const { promptSeq } = turn.journal.attempt.requests.rules;
  const summary = turn.transcript.entries.find(({ kind }) => kind === 'summary');
  const entries = turn.transcript.entries.filter(({ kind }) => kind !== 'summary');
  const own = entries.filter(({ seq }) => seq >= promptSeq);
  if (own.length === 0) return { hides: null };
  const isNew = summary !== undefined && !entries.some(({ kind, seq }) => kind === 'answer' && seq > summary.seq);
  // A summary never makes a request too large.
  const isAtFault = isNew && REFUSALS.has(code) && code !== 'model_request_too_large';
  const undone = isAtFault ? { hidesSummary: { seq: summary.seq, isUndone: true } } : {};
  if (own.some(({ kind }) => kind === 'answer')) return { hides: 'refused', hidesFromSeq: promptSeq + 1, ...undone };
  if (!REFUSALS.has(code)) return { hides: 'refused', hidesFromSeq: promptSeq };
  const past = entries.filter(({ seq }) => seq < promptSeq);
  const lastSeq = past.at(-1)?.seq ?? 0;
  // The signature of a thought may be refused: thoughts of a model that is not known are not sent.
  const { models: _models, refusedAfterSeq, ...view } = turn.journal.attempt.sessionView;
  turn.journal.note({ sessionView: { ...view, refusedAfterSeq: lastSeq } });
  if (refusedAfterSeq === undefined || lastSeq > refusedAfterSeq)
    return { hides: 'refused', hidesFromSeq: promptSeq, ...undone };
  if (summary !== undefined && (isNew || past.length === 0))
    return { hides: 'refused', hidesFromSeq: promptSeq, hidesSummary: { seq: summary.seq, isUndone: false } };
  const before = past.findLast(({ kind }) => kind === 'prompt');
  return { hides: 'refused', hidesFromSeq: before === undefined ? (past[0]?.seq ?? promptSeq) : before.seq + 1 };
}

// Stores the end of a turn: one statement, which also gives the lock back.

/**
 * Ends the turn as decided, and carries out its effects. Throws `TurnStopped` (`lock-lost`) when
 * this worker no longer holds the session.
 */
export async function storeEnd(
  context: TurnContext,
  turn: OpenedTurn,
  { write, result }: EndDecision,
): Promise<Extract<FinishResult, { kind: 'ok' }>> {
  const { session, journal } = turn;
  const { status, messageStatus, reply, error, isInterrupted = false, hides = null } = result;
  const { queue } = context.config.messages;
  // A failure waits until a person retries or discards it (G17). A turn that was stopped ended as
  // requested, and only the client could have sent the results of its tools.
  const hasFailed = error !== null && (status === 'failed' || status === 'timedOut') && error.code !== CALLER_TIMEOUT;
  // Of a session without effects, no one waits for an answer.
  const deadLetter =
    hasFailed && hasEffects(session) ? { id: newId<string>(), code: error.code, reason: error.message } : null;
  // The last answer is that of the model which is asked now.
  const { request } = journal.attempt;
  const answered = error === null && refOfModel(request) !== turn.chain[0] ? request : null;
  const effects = listEffects(context, turn, result).map((effect) => ({ id: newId<string>(), ...effect }));
  const ending = await journal.store(write, (rows) =>
    context.store.finishTurn({
      ...rows,
      status,
      messageStatus,
      reply,
      error,
      wasAborted: result.wasAborted ?? false,
      contextTokens: countContextTokens(turn, write, result),
      deliveries: result.deliveries ?? [],
      deadLetter,
      hides,
      ...given({
        answeredModel: answered === null ? undefined : modelName(answered),
        collectMax: result.collectMax,
        hidesFromSeq: result.hidesFromSeq,
        hidesSummary: result.hidesSummary,
      }),
      debounceMs: isInterrupted ? 0 : (session.queueDebounceMs ?? queue.debounceMs),
      announceDebounceMs: isInterrupted ? 0 : turn.agent.subagents.announceDebounce,
      gatherMsMax: queue.gatherMsMax,
      cap: toCap(context, session),
      steerSeen: journal.attempt.steersSeen,
      ended: turnEnded(turn, progressAfter(journal.at.progress, write), { status, reply, error, answered }),
      effects,
    }),
  );
  context.tracing?.turnEnded(turn.id);
  reportCalls(context, turn, write.modelCalls);
  reportTurnEnd(context, turn, { status, error, figures: ending.figures, deadLetter });
  if (hides === null) context.store.transcripts.keep(session.id, turn.transcript);
  if (effects.length === 0) return ending;
  const staying = effects.map(({ kind }) => kind).filter((kind) => !(kind in context.effects));
  if (staying.length > 0)
    context.logger.warn({ ...pickLogIds(context, turn), effects: staying }, NO_FEATURE_CARRIES_OUT);
  const { config, effects: carriedOut, store } = context;
  // After the costs of its calls, which older schedulers release with the turn.
  const after = await attemptEffects({ config, effects: carriedOut, database: store.database }, session.id);
  return { ...ending, after: mergeAll([ending, { after }]) };
}

const NO_FEATURE_CARRIES_OUT = 'No feature carries out the effects of the turn; they stay until one does';

/** What the end of the turn leaves to be done beside its session. */
function listEffects({ features }: TurnContext, turn: OpenedTurn, result: TurnResult): TurnEffect[] {
  const { id: turnId, session } = turn;
  const { outreach = [], wasAborted = false } = result;
  const effects = [...outreach, ...features.flatMap((feature) => feature.effects?.(turn, result) ?? [])];
  // A run that is stopped meanwhile counts the turn.
  const isOfSubagent = session.runId !== null || (wasAborted && session.depth > 0);
  if (isOfSubagent && !effects.some((effect) => effect.kind === 'run-ended'))
    effects.push({ kind: 'run-ended', turnId, runId: session.runId, end: null });
  return effects;
}

/**
 * Stores the call that a worker breaks off because it leaves, so that its cost is known; the turn
 * stays open. False when this worker no longer holds the session.
 */
export async function storeBrokenCall(context: TurnContext, turn: OpenedTurn): Promise<boolean> {
  if (turn.journal.attempt.unstoredCall === null) return true;
  const write = await brokenCallWrite(context, turn);
  try {
    context.publish(await turn.journal.store(write, (rows) => context.store.commitStep(rows)));
    for (const call of write.modelCalls) context.meter.modelCalled(turn, call);
    return true;
  } catch (error) {
    if (error instanceof TurnStopped) return false;
    if (isPassingFault(error)) throw error;
    // The session need not wait for the end of the lease.
    context.logger.error(
      { err: error, ...pickLogIds(context, turn) },
      'Interrupted model call could not be stored; its cost is not known',
    );
    return true;
  }
}

/** Tokens of the session's context; 0: not known. */
function countContextTokens({ journal, session }: OpenedTurn, write: TurnWrite, result: TurnResult): number {
  if (result.isBare === true || result.hidesSummary !== undefined) return 0;
  if (result.hides === 'poll' || result.collectMax !== undefined)
    return journal.at.tokens.compacted ?? session.contextTokens;
  return lastTokensAfter(journal.at, write);
}
