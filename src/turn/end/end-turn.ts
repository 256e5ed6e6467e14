// Ends a turn: with its last answer, with a failure, or stopped. Each is one commit that also settles the messages, puts the
// reply into the outbox and gives the lock back.
import type { SessionStop } from '../../core/session-stop.ts';
import { textOf, toolUsesOf } from '../../core/content.ts';
import { CODE_OF_STOP } from '../../core/failure.ts';
import type { ModelAnswer } from '../../core/model-request.ts';
import { withReasoning } from '../../core/reasoning.ts';
import { stopMessage } from '../../core/stream/stop-reasons.ts';
import { decideOutcome } from '../../core/next-steps.ts';
import { newId } from '../../ids.ts';
import type { FinishResult } from '../../store/journal/finish-turn.ts';
import type { TurnEnd } from '../../store/journal/turn-end.ts';
import type { AnsweredCall } from '../loop/ask-model.ts';
import type { TurnContext } from '../context.ts';
import { modelEnded } from '../loop/model-events.ts';
import { settleAnswer, settleCompacted, settleFault, type TurnNotices } from './decide-outreach.ts';
import { capOf } from '../open/queue-cap.ts';
import { answersOnlyPoll, repliesWithReasoning, replyRulesOf } from './reply-rules.ts';
import { stoppedMoment } from '../loop/run-tools.ts';
import { advanceTurn, writeOf, type Moment, type RunningTurn } from '../running-turn.ts';
import { judgePoll, silentMoment } from './judge-poll.ts';
import { answerMoment } from '../loop/tool-loop.ts';
import { commandDeliveries, failureDeliveries, replyDeliveries } from './turn-deliveries.ts';
import type { StopReason, TurnFailed } from '../turn-end.ts';
import { logFailedCalls, logTurnEnd } from '../turn-log.ts';

type TurnResult = Pick<TurnEnd, 'status' | 'messageStatus' | 'reply' | 'error'> &
  TurnNotices &
  Partial<Pick<TurnEnd, 'wasAborted' | 'deliveries' | 'hides' | 'pollResult'>> & {
    /** True when a message that wants to be next has ended the turn. */
    isInterrupted?: boolean;
  };

/** The result of a heartbeat whose turn ended this way, unless its answer says more. */
const POLL_RESULTS = {
  completed: 'alert',
  silent: 'acknowledged',
  failed: 'failed',
  aborted: 'failed',
  timedOut: 'failed',
} as const;

/** Failures that the same prompt would bring about again. */
const FAULTS_OF_PROMPT = new Set([
  'model_invalid_request',
  'model_request_too_large',
  'model_context_overflow',
  'blocked',
  'malformed_history',
]);

/** Ends a turn with its last answer. */
export async function finishAnswered(
  context: TurnContext,
  turn: RunningTurn,
  answered: AnsweredCall,
): Promise<FinishResult> {
  const moment = await answerMoment(context, turn, answered);
  const { answer } = answered;
  const error = errorOf(answer);
  if (error !== null) {
    const outreach = settleFault(context, turn, { status: 'failed', message: error.message });
    const deliveries = failureDeliveries(context, turn, error);
    return end(context, turn, moment, {
      status: 'failed',
      messageStatus: 'failed',
      reply: null,
      error,
      deliveries,
      ...outreach,
    });
  }
  const decided = decideOutcome(textOf(answer.content), replyRulesOf(context, turn));
  const { outcome, delivered, outreach } = settleAnswer(context, turn, { outcome: decided, entries: moment.entries });
  const { replyTarget, ...ended } = outcome;
  if (answersOnlyPoll(turn.inputs)) {
    const poll = judgePoll(context, turn, ended.reply);
    if (poll.pollResult !== 'alert') {
      return end(context, turn, silentMoment(moment, poll), {
        status: 'silent',
        messageStatus: 'silent',
        reply: null,
        error: null,
        ...poll,
      });
    }
  }
  const shown = (text: string | null): string | null =>
    text === null || !repliesWithReasoning(turn)
      ? text
      : withReasoning(text, answer.content, context.config.reasoning.enabled);
  const text = shown(delivered);
  const deliveries = text === null ? [] : replyDeliveries(context, turn, { text, replyTarget });
  return end(context, turn, moment, { ...ended, reply: shown(ended.reply), error: null, deliveries, ...outreach });
}

/** What is wrong with a last answer by the reason of its end; null: nothing. */
function errorOf({ stopReason, wireStopReason, content }: ModelAnswer): { code: string; message: string } | null {
  switch (stopReason) {
    case 'model_context_window_exceeded':
      return { code: 'model_context_overflow', message: `The model stopped with ${stopReason}.` };
    case 'refusal':
      return textOf(content) === ''
        ? { code: 'model_refused', message: `The model stopped with ${stopReason}.` }
        : null;
    case 'sensitive':
    case 'unhandled':
      return { code: CODE_OF_STOP[stopReason], message: stopMessage(stopReason, wireStopReason ?? stopReason) };
    case 'end_turn':
    case 'tool_use':
    case 'max_tokens':
    case 'stop_sequence':
    case 'pause_turn':
      return null;
  }
}

/**
 * Ends a turn whose tools have requested it: the session now waits for an input that wakes it. The results of the batch are in
 * `moment`, so the next model call contains them.
 */
export function finishYielded(context: TurnContext, turn: RunningTurn, moment: Moment): Promise<FinishResult> {
  return end(context, turn, moment, { status: 'silent', messageStatus: 'silent', reply: null, error: null });
}

/** Ends a turn that only compacted its session: its reply goes to the requester, not to a channel. */
export async function finishCompacted(context: TurnContext, turn: RunningTurn, reply: string): Promise<FinishResult> {
  // The hint that an earlier turn was stopped is for the next prompt.
  const { wasAborted } = turn.session;
  const outreach = settleCompacted(context, turn);
  return end(
    context,
    turn,
    {},
    {
      status: 'completed',
      messageStatus: 'answered',
      reply,
      error: null,
      wasAborted,
      deliveries: commandDeliveries(context, turn, reply),
      ...outreach,
    },
  );
}

/** Ends a turn that cannot succeed. */
export async function finishFailed(
  context: TurnContext,
  turn: RunningTurn,
  failure: TurnFailed,
): Promise<FinishResult> {
  const error = { code: failure.code, message: failure.message };
  return end(context, turn, await closingMoment(context, turn, failure.message), {
    status: 'failed',
    messageStatus: 'failed',
    reply: null,
    error,
    deliveries: failureDeliveries(context, turn, error),
    ...settleFault(context, turn, { status: 'failed', message: failure.message }),
    hides:
      turn.transcript.entries.at(-1)?.kind === 'prompt' && FAULTS_OF_PROMPT.has(failure.code)
        ? ('prompt' as const)
        : null,
  });
}

/**
 * Ends a turn whose end the database has refused: with only its error, so that no refused value is sent again. Tool calls without
 * results still get one each.
 */
export function finishUnstored(context: TurnContext, turn: RunningTurn, failure: TurnFailed): Promise<FinishResult> {
  turn.callWithoutAnswer = null;
  turn.isSessionViewChanged = false;
  turn.contextTokens = 0;
  return finishFailed(context, turn, failure);
}

/** Ends a turn that a person or a deadline stopped. */
export async function finishStopped(
  context: TurnContext,
  turn: RunningTurn,
  reason: SessionStop | Extract<StopReason, { kind: 'turn-timeout' }>,
): Promise<FinishResult> {
  const isStop = reason.kind !== 'turn-timeout';
  const isRolledBack = reason.kind === 'rolledBack';
  const isInterrupted = isRolledBack || reason.kind === 'interrupted';
  const code = isInterrupted ? 'interrupted' : isStop ? 'aborted' : 'turn_timeout';
  const { entries: closing = [], ...moment } = await closingMoment(context, turn, reason.message);
  const error = { code, message: reason.message };
  return end(context, turn, isRolledBack ? moment : { ...moment, entries: closing }, {
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
    ...settleFault(context, turn, { status: isStop ? 'killed' : 'timedOut', message: reason.message }),
  });
}

/**
 * Tool calls without results get one each, so that the transcript stays well-formed; a model call without an answer is closed.
 */
async function closingMoment(context: TurnContext, turn: RunningTurn, message: string): Promise<Moment> {
  const last = turn.lastEntry;
  const calls = last.kind === 'answer' ? toolUsesOf(last.content) : [];
  const moment = calls.length === 0 ? {} : stoppedMoment(turn, calls, message);
  const broken = turn.callWithoutAnswer;
  if (broken === null) return moment;
  await context.deltas.take({ sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id });
  return { ...moment, modelCalls: [broken], events: [modelEnded(turn.id, broken)] };
}

async function end(
  context: TurnContext,
  turn: RunningTurn,
  moment: Moment,
  outcome: TurnResult,
): Promise<FinishResult> {
  const write = writeOf(turn, moment);
  const { status, reply, error, hides = null } = outcome;
  const { queue } = context.config.messages;
  // A failure waits until a person retries or discards it (G17). A turn that was stopped ended as requested.
  const hasFailed = error !== null && (status === 'failed' || status === 'timedOut');
  const deadLetter = hasFailed ? { id: newId<string>(), code: error.code, reason: error.message } : null;
  const ending = await context.store.finishTurn({
    ...write,
    status,
    messageStatus: outcome.messageStatus,
    reply,
    error,
    wasAborted: outcome.wasAborted ?? false,
    contextTokens: hides === 'poll' ? (turn.room.condensedTokens ?? turn.session.contextTokens) : turn.contextTokens,
    deliveries: outcome.deliveries ?? [],
    deadLetter,
    hides,
    ...(turn.kind === 'heartbeat' ? { pollResult: outcome.pollResult ?? POLL_RESULTS[status] } : {}),
    debounceMs: outcome.isInterrupted === true ? 0 : (turn.session.queueDebounceMs ?? queue.debounceMs),
    announceDebounceMs: outcome.isInterrupted === true ? 0 : turn.agent.subagents.announceDebounce,
    gatherMsMax: queue.gatherMsMax,
    cap: capOf(context, turn.session),
    steerSeen: turn.steers.seen,
    ended: { type: 'turn.ended', data: { status, reply, error } },
    ...(outcome.run === undefined ? {} : { run: outcome.run }),
    ...(outcome.notices === undefined ? {} : { notices: outcome.notices }),
    isAwaited: context.isAwaited(turn.session.id),
  });
  if (ending.kind === 'ok') {
    advanceTurn(turn, write);
    logFailedCalls(context.logger, turn, write.modelCalls);
    logTurnEnd(context.logger, turn, {
      status,
      error,
      figures: ending.figures,
      deadLetter,
    });
    if (hides === null) context.transcripts.keep(turn.session.id, turn.transcript);
    context.onCommit(turn.session.id, 'settlement', ending.settlements);
    for (const sessionId of ending.reached.sessions) context.onCommit(sessionId, 'progress');
  }
  return ending;
}
