// The second half of a request of a client: its answer, sent while the turn runs or when it has
// ended. The turn does not depend on it: it is followed from the past in the database to the live
// events, all through a `Segment`, until that ends, the client leaves, or the time is over. The
// call that a request began can be stopped, too: its message while it waits, or the turn that has
// claimed it.
import { EVERYTHING } from '../../core/scope.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { toDollars } from '../../core/prices.ts';
import { isRefusal, Segment, withoutBrokenCalls, type SegmentEnd, type WantedCall } from './rules/segment.ts';
import { toFinishReason, type ChatToolCall, type FinishReason } from './rules/chat-objects.ts';
import { findClientTurn, readCalls, readOutput, type ClientTurn } from './views/turns.ts';
import { findCallerTool } from '../../core/input-options.ts';
import { customText } from './read-tools.ts';
import {
  findEventBefore,
  findTurnEnd,
  readEventHorizon,
  readEvents,
  type EventRow,
} from '../../kernel/views/events.ts';
import { cancelMessage } from '../../kernel/inbox/cancel-message.ts';
import { stopTurn } from '../../kernel/use-cases/operate-service.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { Answer } from '../../api/answer.ts';
import type { ApiContext } from '../../api/context.ts';
import { beginEventStream, EventStream, readPage, type ReadEvents } from '../../api/sse.ts';
import { REPLAYED } from '../../api/idempotency-key.ts';
import { Problem } from '../../api/problem.ts';
import { ANSWERED, type AnyRequest, type Api } from '../../api/route.ts';
import { textHeader, type BegunCall } from './begin-call.ts';

/** A request whose answer is on its way. */
export interface Call {
  segment: Segment;
  /** The turn as it was read. */
  turn: ClientTurn;
  begun: BegunCall;
  /** Every event of the segment is after it. */
  after: bigint;
  /** True when no event will arrive: those that are missing from the log are lost. */
  isPast: boolean;
}

export async function openCall(
  { context: { views } }: Pick<Api, 'context'>,
  begun: BegunCall,
  { isSentWhole }: { isSentWhole: boolean },
): Promise<Call> {
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

/** What takes the parts of an answer. */
interface AnswerSink {
  text(text: string): void;
  /** Called every 15 s. */
  beat(): void;
}

/** For a request whose answer is sent when all of it is known. */
export const SILENT: AnswerSink = { text: () => undefined, beat: () => undefined };

/**
 * `gone`: the client has disconnected. `stopped`: the process stops. `late`: the time is over.
 * `cut`: the text that was sent is no longer a part of the answer.
 */
export type Followed = { kind: 'ended'; end: SegmentEnd } | { kind: 'gone' | 'stopped' | 'late' | 'cut' };

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
  const { segment, turn, isPast } = call;
  const response = request.reply.raw;
  services.streams.refuseWhenFull();
  services.admission.leave(request.reply.request);
  let result = null as Followed | null;
  function finish(followed: Followed): void {
    result ??= followed;
    stream.end();
  }
  function take(event: EventRow): void {
    if (stream.isOver) return;
    for (const part of segment.take(event)) {
      if (part.kind === 'text') sink.text(part.text);
      else finish(part.kind === 'end' ? { kind: 'ended', end: part.end } : { kind: 'cut' });
    }
  }
  const stream = new EventStream({
    response,
    tail: services.tail,
    after: call.after,
    async replay(after) {
      const past = await readPast(createReader(context, call), after, () => stream.isOver);
      for (const event of past.events) take(event);
      if (isPast) stream.end();
      return { cursor: past.cursor, isMore: false };
    },
    take(events) {
      for (const { event } of events) if (event.sessionKey === turn.sessionKey) take(event);
    },
    beat: () => sink.beat(),
  });
  const timer = timeoutMs === null ? undefined : setTimeout(() => finish({ kind: 'late' }), timeoutMs);
  try {
    await services.streams.run(stream);
  } finally {
    clearTimeout(timer);
  }
  if (result !== null) return result;
  if (response.destroyed) {
    await leave(context, request, call);
    return { kind: 'gone' };
  }
  return isPast ? await rememberedEnd(context, call) : { kind: 'stopped' };
}

function createReader({ views }: ApiContext, { turn }: Call): ReadEvents {
  const filter =
    turn.turn === null ? { sessionKey: turn.sessionKey } : { turn: { id: turn.turn.id, sessionId: turn.sessionId } };
  return (page) => readEvents(views, { scope: EVERYTHING, ...filter }, page);
}

/** All of the past after an id: only as a whole it says which calls were made again. */
async function readPast(
  read: ReadEvents,
  after: bigint,
  isOver: () => boolean = () => false,
): Promise<{ events: EventRow[]; cursor: bigint }> {
  const events: EventRow[] = [];
  let [cursor, isMore] = [after, true];
  while (isMore && !isOver()) {
    const page = await readPage(read, cursor);
    events.push(...page.events);
    ({ cursor, isMore } = page);
  }
  return { events: withoutBrokenCalls(events), cursor };
}

/**
 * Answers when the call has ended, with what `show` makes of its end. Throws the `Problem` of a
 * turn that failed.
 */
export async function answerWhole(
  api: Api,
  request: AnyRequest,
  call: Call,
  show: (end: AnswerEnd) => Promise<object>,
): Promise<Answer | typeof ANSWERED> {
  const timeoutMs = api.context.config.limits.waitSeconds * 1000;
  const followed = await follow(api, request, call, { sink: SILENT, timeoutMs });
  if (followed.kind === 'gone') return abandon(request);
  request.reply.headers(toHeaders(call));
  if (followed.kind !== 'ended' || followed.end.kind === 'failed') throw toProblem(followed);
  const body = await show(followed.end);
  return { status: 200, body, headers: { 'x-holdfast-cost-usd': String(toDollars(call.segment.usage.costMicros)) } };
}

/** Writes the events of an answer, in one of OpenAI's forms. */
export interface Printer {
  text(text: string): string;
  /** The last events. Before the first byte (`isOpen`: false) it may throw an answer. */
  end(followed: Followed, isOpen: boolean): Promise<string>;
}

/**
 * Answers with events while the turn runs. The headers are sent with the first byte, so a failure
 * before it is an answer with a status.
 */
export async function answerStreamed(
  api: Api,
  request: AnyRequest,
  call: Call,
  printer: Printer,
): Promise<typeof ANSWERED> {
  const { reply } = request;
  let isOpen = false;
  function write(text: string): void {
    if (!isOpen) beginEventStream(reply, toHeaders(call));
    isOpen = true;
    if (!reply.raw.destroyed) reply.raw.write(text);
  }
  // A comment: nothing between closes a connection that is not silent.
  const sink = { text: (text: string) => write(printer.text(text)), beat: () => write(': alive\n\n') };
  const followed = await follow(api, request, call, { sink, timeoutMs: null });
  if (followed.kind === 'gone') return abandon(request);
  if (!isOpen) reply.headers(toHeaders(call));
  write(await printer.end(followed, isOpen));
  reply.raw.end();
  return ANSWERED;
}

/** Ends a request whose client has left, without an answer. */
function abandon({ reply }: AnyRequest): typeof ANSWERED {
  reply.hijack();
  return ANSWERED;
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
async function rememberedEnd({ views }: ApiContext, { begun, segment }: Call): Promise<Followed> {
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
async function leave(context: ApiContext, request: AnyRequest, { begun }: Call): Promise<void> {
  if (textHeader(request, 'x-holdfast-on-disconnect') === 'abort') await stopCall(context, begun.messageId, null);
}

/**
 * A worker that has just claimed a message opens its turn within some milliseconds; meanwhile there
 * is nothing to stop.
 */
const POLLS_MAX = 50;
const POLL_MS = 100;

/** Cancels the message, or stops the turn that has claimed it. False: it has ended. */
export async function stopCall(
  { views, service }: ApiContext,
  messageId: string,
  idempotency: KeyedRequest | null,
): Promise<boolean> {
  const { database, publish } = service;
  const cancellation = { id: messageId, reason: 'The client cancelled the request.', idempotency };
  for (let poll = 1; poll <= POLLS_MAX; poll += 1) {
    if (publish(await cancelMessage(database, cancellation)).kind === 'done') return true;
    const found = await findClientTurn(views, { messageId });
    if (found?.turn) return (await stopTurn(service, found.turn.id, idempotency)) === 'stopped';
    if (found?.status !== 'claimed' && found?.status !== 'waiting') return false;
    await delay(POLL_MS);
  }
  return false;
}

/** An answer, or the wait for the client. */
export type AnswerEnd = Exclude<SegmentEnd, { kind: 'failed' }>;

/** The reason of the end, and the calls that the client has to run. */
export async function readEnd(
  { context }: Api,
  { turn }: Call,
  end: AnswerEnd,
): Promise<{ calls: ChatToolCall[]; finish: FinishReason }> {
  if (end.kind === 'answered') return { calls: [], finish: toFinishReason(end.stopReason) };
  return { calls: await calledTools(context, turn, end.calls), finish: 'tool_calls' };
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
export function toHeaders({ segment, turn, begun }: Call): Record<string, string> {
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
