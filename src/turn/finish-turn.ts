// Ends a turn: with its last answer, with a failure, or stopped. Each is one commit that also settles the messages, puts the
// reply into the outbox and gives the lock back.
import { textOf, toolUsesOf } from '../core/content.ts';
import { decideOutcome } from '../core/next-steps.ts';
import type { DeliveryId } from '../core/ids.ts';
import type { InboundMessage } from '../core/inbound.ts';
import { newId } from '../ids.ts';
import type { Ending, NewDelivery, TurnEnd } from '../store/journal/finish-turn.ts';
import type { Answered } from './ask-model.ts';
import type { TurnContext } from './context.ts';
import { stoppedMoment } from './run-tools.ts';
import { applied, writeOf, type Moment, type RunningTurn } from './running-turn.ts';
import { answerMoment } from './tool-loop.ts';
import type { StopReason, TurnFailed } from './turn-end.ts';

type Outcome = Pick<TurnEnd, 'status' | 'messageStatus' | 'reply' | 'error'> &
  Partial<Pick<TurnEnd, 'wasAborted' | 'deliveries' | 'deadLetter' | 'isPromptHidden'>>;

/** Failures that the same prompt would bring about again. */
const FAULTS_OF_PROMPT = new Set([
  'model_invalid_request',
  'model_request_too_large',
  'model_context_overflow',
  'malformed_history',
]);

/** Ends a turn with its last answer. */
export async function finishAnswered(context: TurnContext, turn: RunningTurn, answered: Answered): Promise<Ending> {
  const moment = await answerMoment(context, turn, answered);
  const { answer } = answered;
  if (
    answer.stopReason === 'model_context_window_exceeded' ||
    (answer.stopReason === 'refusal' && textOf(answer.content) === '')
  ) {
    const code = answer.stopReason === 'refusal' ? 'model_refused' : 'model_context_overflow';
    const error = { code, message: `The model stopped with ${answer.stopReason}.` };
    return end(context, turn, moment, { status: 'failed', messageStatus: 'failed', reply: null, error });
  }
  const outcome = decideOutcome(textOf(answer.content));
  const deliveries = outcome.reply === null ? [] : deliveriesOf(context, turn, outcome.reply);
  return end(context, turn, moment, { ...outcome, error: null, deliveries });
}

/** Ends a turn that cannot succeed. */
export async function finishFailed(context: TurnContext, turn: RunningTurn, failure: TurnFailed): Promise<Ending> {
  const error = { code: failure.code, message: failure.message };
  const deadLetter =
    failure.code === 'poison' ? { id: newId<string>(), code: failure.code, reason: failure.message } : null;
  return end(context, turn, await closingMoment(context, turn, failure.message), {
    status: 'failed',
    messageStatus: 'failed',
    reply: null,
    error,
    deadLetter,
    isPromptHidden: turn.lastEntry.kind === 'prompt' && FAULTS_OF_PROMPT.has(failure.code),
  });
}

/** Ends a turn that a person or a deadline stopped. */
export async function finishStopped(
  context: TurnContext,
  turn: RunningTurn,
  reason: Extract<StopReason, { kind: 'stopped' | 'turn-timeout' }>,
): Promise<Ending> {
  const isStop = reason.kind === 'stopped';
  const code = isStop ? 'aborted' : 'turn_timeout';
  return end(context, turn, await closingMoment(context, turn, reason.message), {
    status: isStop ? 'aborted' : 'timedOut',
    messageStatus: isStop ? 'cancelled' : 'failed',
    reply: null,
    error: { code, message: reason.message },
    wasAborted: isStop,
  });
}

/**
 * Tool calls that have no results yet get one each, so that the transcript stays well-formed; a model call that brought no answer
 * gets its end.
 */
async function closingMoment(context: TurnContext, turn: RunningTurn, message: string): Promise<Moment> {
  const last = turn.lastEntry;
  const calls = last.kind === 'answer' ? toolUsesOf(last.content) : [];
  const moment = calls.length === 0 ? {} : stoppedMoment(turn, calls, message);
  const broken = turn.callWithoutAnswer;
  if (broken === null) return moment;
  await context.deltas.take({ sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id });
  const { callNo: call, status, error } = broken;
  return { ...moment, modelCalls: [broken], events: [{ type: 'model.ended', data: { call, status, error } }] };
}

async function end(context: TurnContext, turn: RunningTurn, moment: Moment, outcome: Outcome): Promise<Ending> {
  const write = writeOf(turn, moment);
  const { status, reply, error } = outcome;
  const ending = await context.store.finishTurn({
    ...write,
    status,
    messageStatus: outcome.messageStatus,
    reply,
    error,
    wasAborted: outcome.wasAborted ?? false,
    contextTokens: turn.contextTokens,
    deliveries: outcome.deliveries ?? [],
    deadLetter: outcome.deadLetter ?? null,
    isPromptHidden: outcome.isPromptHidden ?? false,
    debounceMs: 0,
    ended: { type: 'turn.ended', data: { status, reply, error } },
  });
  if (ending.kind === 'ok') {
    applied(turn, write);
    if (outcome.isPromptHidden !== true) context.transcripts.keep(turn.session.id, turn.transcript);
    context.onCommit(turn.session.id, 'settlement');
  }
  return ending;
}

/** The reply goes where the last of the messages asked for, else where the configuration says, else nowhere. */
function deliveriesOf(context: TurnContext, turn: RunningTurn, reply: string): NewDelivery[] {
  const { webhook } = context.config.channels;
  const last = turn.inputs.at(-1)?.body as InboundMessage | undefined;
  const url = last?.deliver?.url ?? webhook.url;
  if (url === undefined) return [];
  const payload = {
    type: 'reply',
    sessionKey: turn.session.key,
    turnId: turn.id,
    messageIds: turn.inputs.map((input) => input.id),
    text: reply,
  };
  return [{ id: newId<DeliveryId>(), channel: 'webhook', target: { url }, payload, expiresMs: webhook.expiresAfter }];
}
