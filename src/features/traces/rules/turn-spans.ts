// The trace of a turn, made from the rows of its journal when it has ended (docs/telemetry.md).
// Whichever process makes it, and however many workers ran the turn, the spans and their ids are
// the same.
//
//   holdfast.accept            the message that the turn answers first; a cron's tick is
//                              `invoke_workflow`
//   ├─ holdfast.gather, holdfast.lock, holdfast.queue
//   └─ invoke_agent            the turn, from its first claim to its end
//      ├─ holdfast.assemble, holdfast.lock (a worker was lost), holdfast.rate, holdfast.provider_batch, holdfast.compact
//      ├─ chat, execute_tool
//      └─ holdfast.deliver
//
// Each further message that the turn answers has a trace of its own, which ends at the turn: its
// span and the turn are linked.
import { batchRef, callSpan, compactionSpan, deliverySpan, toolSpan } from './step-spans.ts';
import { ATTRIBUTES, EVENT_NAMES, FINISH_REASONS, OPERATIONS, SPAN_NAMES, TAG_PREFIX } from './conventions.ts';
import {
  findOrigin,
  SPAN_KEYS,
  readCode,
  makeSpan,
  type Span,
  type SpanRef,
  type TraceBasis,
  type SpanDraft,
} from '../../../core/telemetry.ts';
import type { TracedInput, TracedTurn, TraceSurroundings } from './traced-turn.ts';

/** The most spans of a trace; how many more there would be is an attribute of the turn. */
export const SPANS_MAX = 2000;

const LINKS_MAX = 128;
const FAILED_STATUSES: ReadonlySet<string> = new Set(['failed', 'timedOut', 'aborted']);

/** The trace ids and the span ids of a turn. */
export interface TurnPlace {
  turn: SpanRef;
  /** The span that the turn is part of. */
  accept: SpanRef;
}

export function derivePlace(
  turnId: string,
  inputs: readonly Pick<TracedInput, 'id' | 'seq' | 'traceparent'>[],
  basis: TraceBasis,
): TurnPlace {
  const { traceId } = basis.traceOf(findOrigin(turnId, inputs));
  const [first] = inputs.toSorted((a, b) => a.seq - b.seq);
  return {
    turn: { traceId, spanId: basis.spanIdOf(SPAN_KEYS.turn(turnId)) },
    accept: { traceId, spanId: basis.spanIdOf(SPAN_KEYS.accept(first?.id ?? turnId)) },
  };
}

/** The spans of a turn that has ended, each after its parent, at most `SPANS_MAX`. */
export function turnSpans(turn: TracedTurn, basis: TraceBasis, surroundings: TraceSurroundings): Span[] {
  const place = derivePlace(turn.id, turn.inputs, basis);
  const [first, ...others] = turn.inputs.toSorted((a, b) => a.seq - b.seq);
  const joined = others.slice(0, LINKS_MAX - 2).map((input) => acceptSpan(input, place.turn, basis));
  const { before, within } = waitSpans(turn, place, basis);
  const parts = [
    ...within,
    ...turn.compactions.map((compaction) => compactionSpan(compaction, place.turn, basis)),
    ...turn.steps.flatMap((step) => [
      ...step.calls.map((call) => callSpan(turn, call, place.turn, { basis, surroundings })),
      ...step.tools.map((tool) => toolSpan(turn, { ...tool, step: step.n }, place.turn, basis)),
    ]),
    ...deliverySpans(turn, basis),
  ].toSorted((a, b) => a.startMs - b.startMs);
  const room = SPANS_MAX - 2 - before.length - joined.length;
  const dropped = Math.max(0, parts.length - room);
  const root = rootSpan(turn, first, place, basis);
  const agent = agentSpan(turn, place, { basis, joined, dropped });
  return [root, ...before, agent, ...parts.slice(0, room), ...joined];
}

/** The spans of its deliveries that have ended. */
export function deliverySpans(turn: Pick<TracedTurn, 'id' | 'inputs' | 'deliveries'>, basis: TraceBasis): Span[] {
  const { turn: parent } = derivePlace(turn.id, turn.inputs, basis);
  return turn.deliveries.flatMap((delivery) =>
    delivery.settledAt === null ? [] : [deliverySpan(delivery, parent, basis)],
  );
}

/** The first span of the trace. */
function rootSpan(turn: TracedTurn, first: TracedInput | undefined, { accept }: TurnPlace, basis: TraceBasis): Span {
  const endedAt = turn.endedAt ?? turn.claimedAt;
  if (first === undefined) {
    const times = { startMs: basis.msOf(turn.claimedAt), endMs: basis.msOf(endedAt) };
    return makeSpan({ ...accept, parentSpanId: null, name: SPAN_NAMES.accept, ...times });
  }
  const span = inputSpan(first, accept, basis);
  if (turn.cron === null) return span;
  const { operation, workflowName, cronId } = ATTRIBUTES;
  return makeSpan({
    ...span,
    name: `${OPERATIONS.workflow} ${turn.cron.name}`,
    endMs: basis.msOf(endedAt),
    attributes: {
      ...span.attributes,
      [operation]: OPERATIONS.workflow,
      [workflowName]: turn.cron.name,
      [cronId]: turn.cron.id,
    },
  });
}

/** A further message: a trace that ends where it joined the turn. */
function acceptSpan(input: TracedInput, turn: SpanRef, basis: TraceBasis): Span {
  const { traceId } = basis.traceOf(findOrigin(input.id, [input]));
  const spanId = basis.spanIdOf(SPAN_KEYS.accept(input.id));
  return { ...inputSpan(input, { traceId, spanId }, basis), links: [turn] };
}

function inputSpan(input: TracedInput, ref: SpanRef, basis: TraceBasis): Span {
  const isRequest = input.causeKey === null;
  const { parent } = basis.traceOf(findOrigin(input.id, [input]));
  return makeSpan({
    ...ref,
    parentSpanId: parent?.spanId ?? null,
    name: SPAN_NAMES.accept,
    kind: isRequest ? 'server' : 'internal',
    startMs: basis.msOf(input.receivedAt),
    endMs: basis.msOf(input.receivedAt),
    attributes: {
      ...(isRequest && input.kind === 'message' ? { [ATTRIBUTES.httpRoute]: '/v1/sessions/{key}/messages' } : {}),
      [ATTRIBUTES.messageId]: input.id,
      [ATTRIBUTES.messageKind]: input.kind,
      [ATTRIBUTES.disposition]: input.disposition,
    },
  });
}

function agentSpan(
  turn: TracedTurn,
  { turn: ref, accept }: TurnPlace,
  { basis, joined, dropped }: { basis: TraceBasis; joined: readonly Span[]; dropped: number },
): Span {
  const { spawnedBy, batchId } = turn;
  const links: SpanRef[] = joined.map(({ traceId, spanId }) => ({ traceId, spanId }));
  if (spawnedBy !== null) {
    const { traceId } = derivePlace(spawnedBy.turnId, spawnedBy.inputs, basis).turn;
    links.push({
      traceId,
      spanId: basis.spanIdOf(SPAN_KEYS.tool(spawnedBy.turnId, spawnedBy.step, spawnedBy.callId)),
    });
  }
  if (batchId !== null) links.push(batchRef(batchId, basis));
  return makeSpan({
    ...ref,
    parentSpanId: accept.spanId,
    name: `${OPERATIONS.agent} ${turn.agentId}`,
    startMs: basis.msOf(turn.attempts[0]?.claimedAt ?? turn.claimedAt),
    endMs: basis.msOf(turn.endedAt ?? turn.claimedAt),
    attributes: {
      [ATTRIBUTES.operation]: OPERATIONS.agent,
      [ATTRIBUTES.agentId]: turn.agentId,
      [ATTRIBUTES.agentName]: turn.agentId,
      [ATTRIBUTES.conversationId]: turn.sessionKey,
      [ATTRIBUTES.turnId]: turn.id,
      [ATTRIBUTES.turnKind]: turn.kind,
      [ATTRIBUTES.turnLane]: turn.lane,
      [ATTRIBUTES.turnStatus]: turn.status,
      [ATTRIBUTES.turnAttempt]: turn.attempt,
      ...Object.fromEntries(Object.entries(turn.tags).map(([key, value]) => [`${TAG_PREFIX}${key}`, value])),
      [ATTRIBUTES.costUsd]: turn.costUsd,
      [ATTRIBUTES.parentTurnId]: spawnedBy?.turnId,
      [ATTRIBUTES.batchId]: batchId,
      [ATTRIBUTES.spansDropped]: dropped === 0 ? null : dropped,
      ...formatContent(turn),
    },
    links,
    events: turn.attempts.flatMap(({ attempt, worker, endedAt, how }) =>
      endedAt === null || how === null
        ? []
        : [
            {
              name: EVENT_NAMES.attemptEnded,
              atMs: basis.msOf(endedAt),
              attributes: {
                [ATTRIBUTES.attempt]: attempt,
                ...(worker !== null && { [ATTRIBUTES.worker]: worker }),
                [ATTRIBUTES.attemptEnd]: how,
              },
            },
          ],
    ),
    errorType: FAILED_STATUSES.has(turn.status) ? (readCode(turn.error) ?? turn.status) : null,
  });
}

function formatContent({ content, steps }: TracedTurn): Record<string, string | null> {
  if (content === null) return {};
  const { inputs, reply, instructions } = content;
  const toPart = (text: string) => ({ type: 'text', content: text });
  const toMessage = (role: string, text: string) => ({ role, parts: [toPart(text)] });
  const said = reply === null ? null : { ...toMessage('assistant', reply), finish_reason: finishReasonOf(steps) };
  return {
    [ATTRIBUTES.inputMessages]: JSON.stringify(inputs.map((text) => toMessage('user', text))),
    [ATTRIBUTES.outputMessages]: said === null ? null : JSON.stringify([said]),
    [ATTRIBUTES.systemInstructions]: instructions === null ? null : JSON.stringify([toPart(instructions)]),
  };
}

/** Why the reply ends where it does: that of the last answer. */
function finishReasonOf(steps: TracedTurn['steps']): string {
  const reasons = steps.flatMap(({ calls }) => calls.flatMap(({ stopReason }) => stopReason ?? []));
  const last = reasons.at(-1) ?? 'end_turn';
  return FINISH_REASONS[last] ?? last;
}

/** How a stretch of a turn's time is called in its trace, and whether it lies before the turn. */
const WAITS: Record<string, { name: string; isBefore: boolean; reason: string | null }> = {
  gather: { name: SPAN_NAMES.gather, isBefore: true, reason: null },
  'lock.wait': { name: SPAN_NAMES.lock, isBefore: true, reason: 'earlier_turn' },
  'queue.wait': { name: SPAN_NAMES.queue, isBefore: true, reason: null },
  'prompt.assemble': { name: SPAN_NAMES.assemble, isBefore: false, reason: null },
  'worker.lost': { name: SPAN_NAMES.lock, isBefore: false, reason: 'worker_lost' },
  'rate.wait': { name: SPAN_NAMES.rate, isBefore: false, reason: null },
  'provider.wait': { name: SPAN_NAMES.providerBatch, isBefore: false, reason: null },
};

function waitSpans(turn: TracedTurn, place: TurnPlace, basis: TraceBasis): { before: Span[]; within: Span[] } {
  const spans = { before: [] as Span[], within: [] as Span[] };
  const counts = new Map<string, number>();
  for (const { kind, name: detail, startedAt, endedAt } of turn.spans) {
    const wait = WAITS[kind];
    if (wait === undefined) continue;
    const n = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, n);
    const parent = wait.isBefore ? place.accept : place.turn;
    const draft: SpanDraft = {
      traceId: parent.traceId,
      spanId: basis.spanIdOf(SPAN_KEYS.wait(turn.id, kind, n)),
      parentSpanId: parent.spanId,
      name: wait.name,
      startMs: basis.msOf(startedAt),
      endMs: basis.msOf(endedAt ?? turn.endedAt ?? startedAt),
      attributes: wait.name === SPAN_NAMES.assemble ? {} : { [ATTRIBUTES.waitReason]: wait.reason ?? detail },
    };
    (wait.isBefore ? spans.before : spans.within).push(makeSpan(draft));
  }
  return spans;
}
