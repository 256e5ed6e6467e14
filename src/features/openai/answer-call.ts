// The second half of a request of a client: its answer, sent while the turn runs or when it has
// ended. The turn does not depend on it.
import { toDollars } from '../../core/prices.ts';
import { isRefusal, Segment, type SegmentEnd, type WantedCall } from './rules/segment.ts';
import type { ChatToolCall } from './rules/chat-objects.ts';
import { findClientTurn, readCalls, readOutput, type ClientTurn } from './views/turns.ts';
import { findCallerTool } from '../../core/input-options.ts';
import { customText } from './read-tools.ts';
import { findEventBefore, findTurnEnd, readEventHorizon, readEvents } from '../../kernel/views/events.ts';
import type { Answer } from '../../api/answer.ts';
import type { ApiContext } from '../../api/context.ts';
import { abandon } from './sse.ts';
import { REPLAYED } from '../../api/idempotency-key.ts';
import { overloaded, Problem } from '../../api/problem.ts';
import type { ANSWERED, AnyRequest, Api } from '../../api/route.ts';
import { textHeader, type BegunCall } from './begin-call.ts';
import { FollowedTurn, readPast, stopCall, type AnswerSink, type Followed } from './follow-turn.ts';

/** A request whose answer is on its way. */
export interface OpenCall {
  segment: Segment;
  /** As it was when it was read. */
  turn: ClientTurn;
  begun: BegunCall;
}

/** Of a request whose answer is sent when all of it is known. */
export const SILENT: AnswerSink = { text: () => undefined, cut: () => undefined, beat: () => undefined };

export type Call = Awaited<ReturnType<typeof openCall>>;

/** The state of the answer of a request. */
export async function openCall(
  { context }: Pick<Api, 'context'>,
  begun: BegunCall,
  { isSentWhole }: { isSentWhole: boolean },
): Promise<OpenCall & { after: bigint; isPast: boolean }> {
  const { views } = context;
  // Before the message is read: what happens to it from then on is after it.
  const horizon = await readEventHorizon(views);
  const turn = await findClientTurn(views, { messageId: begun.messageId });
  if (turn === null) throw new Problem('not_found', 'The message of the request was deleted.');
  const segment = new Segment({
    messageId: begun.messageId,
    turnId: turn.turn?.id ?? null,
    afterStep: begun.afterStep,
    isSentWhole,
    isChecked: turn.isChecked,
  });
  if (turn.turn === null) return { segment, turn, begun, after: horizon - 1n, isPast: turn.status !== 'waiting' };
  const { id, startedAt, isEnded } = turn.turn;
  const { sessionId } = turn;
  const after = await findEventBefore(views, { sessionId, startedAt });
  const isPast = isEnded && (await findTurnEnd(views, { id, sessionId, after })) === null;
  return { segment, turn, begun, after, isPast };
}

function createReader({ views }: ApiContext, { turn }: OpenCall) {
  const filter =
    turn.turn === null ? { sessionKey: turn.sessionKey } : { turn: { id: turn.turn.id, sessionId: turn.sessionId } };
  return (page: { after: bigint; limit: number }) => readEvents(views, filter, page);
}

/**
 * Follows it until it ends, for at most the duration of the request; `timeoutMs` null: without a
 * limit.
 */
export async function follow(
  { context, services }: Api,
  request: AnyRequest,
  call: Call,
  { sink, timeoutMs }: { sink: AnswerSink; timeoutMs: number | null },
): Promise<Followed> {
  if (services.streams.isFull)
    throw overloaded('The limit of open streams of the service is reached. Close a stream, or try again later.');
  const { segment, turn, after, isPast } = call;
  services.admission.leave(request.reply.request);
  const followed = new FollowedTurn({
    segment,
    sink,
    response: request.reply.raw,
    tail: services.tail,
    sessionKey: turn.sessionKey,
    after,
    read: createReader(context, call),
    isPast,
  });
  const timer = timeoutMs === null ? undefined : setTimeout(() => followed.giveUp(), timeoutMs);
  try {
    await services.streams.run(followed);
  } finally {
    clearTimeout(timer);
  }
  const { result } = followed;
  if (result.kind === 'gone') await leave(context, request, call);
  return result.kind === 'lost' ? await rememberedEnd(context, call) : result;
}

/**
 * Answers when the call has ended, with what `show` makes of its end. Throws the `Problem` of a
 * turn that failed.
 */
export async function answerWhole(
  api: Api,
  request: AnyRequest,
  call: Call,
  show: (end: Exclude<SegmentEnd, { kind: 'failed' }>) => Promise<object>,
): Promise<Answer | typeof ANSWERED> {
  const timeoutMs = api.context.config.limits.waitSeconds * 1000;
  const followed = await follow(api, request, call, { sink: SILENT, timeoutMs });
  if (followed.kind === 'gone') return abandon(request);
  request.reply.headers(toHeaders(call));
  if (followed.kind !== 'ended' || followed.end.kind === 'failed') throw toProblem(followed);
  const body = await show(followed.end);
  return { status: 200, body, headers: { 'x-holdfast-cost-usd': String(toDollars(call.segment.usage.costMicros)) } };
}

/** Its result from the events so far; null: it has not ended. */
export async function peek({ context }: Api, call: Call): Promise<Followed | null> {
  const { events } = await readPast(createReader(context, call), call.after);
  for (const part of events.flatMap((event) => call.segment.take(event))) {
    if (part.kind === 'end') return { kind: 'ended', end: part.end };
  }
  return call.isPast ? await rememberedEnd(context, call) : null;
}

/** The end of a turn whose events are deleted already. */
async function rememberedEnd({ views }: ApiContext, { begun, segment }: OpenCall): Promise<Followed> {
  const turn = await findClientTurn(views, { messageId: begun.messageId });
  const output = turn === null ? null : await readOutput(views, turn, begun.afterStep);
  if (output !== null && output.calls.length > 0) {
    segment.remember(output.text);
    return { kind: 'ended', end: { kind: 'calls', calls: output.calls } };
  }
  if (turn === null || (turn.status !== 'answered' && turn.status !== 'silent')) {
    const { code = turn?.status ?? 'unknown', message = 'The turn has not answered the message.' } = turn?.error ?? {};
    if (isRefusal(code)) return { kind: 'ended', end: { kind: 'answered', stopReason: 'refusal' } };
    return { kind: 'ended', end: { kind: 'failed', code, message, wasStopped: turn?.status === 'cancelled' } };
  }
  segment.remember(turn.reply ?? '');
  return { kind: 'ended', end: { kind: 'answered', stopReason: null } };
}

/** The client has disconnected: its turn continues unless the client asked otherwise. */
async function leave(context: ApiContext, request: AnyRequest, { begun }: OpenCall): Promise<void> {
  if (textHeader(request, 'x-holdfast-on-disconnect') === 'abort') await stopCall(context, begun.messageId, null);
}

/** The calls that the client has to run, with their arguments. */
export async function calledTools(
  { views }: ApiContext,
  turn: ClientTurn,
  calls: readonly WantedCall[],
): Promise<ChatToolCall[]> {
  const [first] = calls;
  if (first === undefined) return [];
  const { inputs, names } = await readCalls(views, { sessionId: turn.sessionId, turnId: first.turnId });
  return calls.map(({ id, callId, name: modelName }) => {
    const tool = findCallerTool(turn.caller, names, modelName);
    const { name = tool?.name ?? modelName, namespace, isCustom } = tool?.known ?? {};
    const input = inputs.get(callId) ?? {};
    const called = { id, name, ...(namespace === undefined ? {} : { namespace }) };
    return isCustom ? { ...called, input: customText(input) } : { ...called, arguments: JSON.stringify(input) };
  });
}

/** The headers that every answer has. */
export function toHeaders({ segment, turn, begun }: OpenCall): Record<string, string> {
  return {
    'x-holdfast-session-key': turn.sessionKey,
    ...(segment.turnId === null ? {} : { 'x-holdfast-turn-id': segment.turnId }),
    ...(begun.ignored.length === 0 ? {} : { 'x-holdfast-ignored': begun.ignored.join(', ') }),
    ...(begun.isReplay ? REPLAYED : {}),
    ...(turn.caller?.differs === true && begun.afterStep === 0 ? { 'x-holdfast-history-differs': 'true' } : {}),
  };
}

/** The problem of a request whose turn failed, or whose end could not be reported. */
export function toProblem(
  followed: Followed | { kind: 'ended'; end: Extract<SegmentEnd, { kind: 'failed' }> },
): Problem {
  if (followed.kind === 'late' || followed.kind === 'stopped')
    return new Problem('wait_ended', 'The turn is still running. Send the request again to wait for the same answer.', {
      retryAfterMs: 1000,
    });
  if (followed.kind !== 'ended' || followed.end.kind !== 'failed')
    return new Problem(
      'turn_failed',
      'The worker crashed during the answer, and another worker repeats it. Send the request again to get the whole answer.',
    );
  const { code, message } = followed.end;
  if (code === 'budget_exceeded' || code === 'budget_reached') return new Problem('insufficient_quota', message);
  if (code === 'rate_limited') return new Problem('rate_limit_exceeded', message, { retryAfterMs: 10_000 });
  if (code === 'model_context_overflow' || code === 'model_request_too_large')
    return new Problem('context_length_exceeded', message);
  return new Problem('turn_failed', `${message} (${code})`);
}
