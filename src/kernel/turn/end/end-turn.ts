// How a turn ends: with its last answer, with a failure, or stopped. Each is a decision, which `store-end.ts` stores in one commit that also
// settles the messages, puts the reply into the outbox and gives the lock back.
import type { SessionStop } from '../../../core/statuses.ts';
import { joinText, listToolUses } from '../../../core/content.ts';
import { faultOfStop } from '../../../core/failure.ts';
import type { ModelAnswer } from '../../../core/model-request.ts';
import { withReasoning } from '../../../core/reasoning-tags.ts';
import { answeredWith, decideOutcome } from '../../../core/next-steps.ts';
import type { TurnContext } from '../context.ts';
import { modelEnded } from '../model-events.ts';
import { settleAnswer, settleCompacted, settleFault } from './decide-outreach.ts';
import { hideRefused } from './hide-refused.ts';
import { repliesWithReasoning, buildReplyRules } from '../reply-rules.ts';
import { stoppedWrite } from '../loop/run-tools.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { continuedText } from '../loop/paused-answer.ts';
import { checkAnswer } from '../loop/structured-answer.ts';
import { answerWrite } from '../loop/tool-loop.ts';
import { commandDeliveries, failureDeliveries, replyDeliveries } from './turn-deliveries.ts';
import type { StopReason, TurnFailed } from '../turn-stop.ts';
import {
  joined,
  NO_ROWS,
  type AnsweredCall,
  type EndDecision,
  type TurnResult,
  type TurnWrite,
} from '../turn-write.ts';

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
 * Ends a turn whose tools have requested it: the session now waits for an input that wakes it. The results of the batch are in
 * `write`, so the next model call contains them.
 */
export function endYielded(write: TurnWrite): EndDecision {
  return { write, result: { status: 'silent', messageStatus: 'silent', reply: null, error: null } };
}

/** Ends a turn that only compacted its session: its reply goes to the requester, not to a channel. */
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
 * Ends a turn that cannot succeed. A bare end takes along only its error, so that no refused value is sent again; tool calls without
 * results still get one each.
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

/** Ends a turn whose messages are too long for one prompt: they wait again, and the next turn takes the first half of them (G3, G5). */
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
  await context.deltas.take({ sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id });
  return { ...NO_ROWS, modelCalls: [broken], events: [modelEnded(turn, broken)] };
}
