// The spans of a turn's operations: its model calls, tool calls, compactions and deliveries.
import { DEFAULT_PROVIDER, modelOfRef } from '../../../core/models.ts';
import { ATTRIBUTES, OPERATIONS, SPAN_NAMES } from './conventions.ts';
import { SPAN_KEYS, readCode, makeSpan, type Span, type SpanRef, type TraceBasis } from '../../../core/telemetry.ts';
import type { TracedDelivery, TracedTurn, TraceSurroundings } from './traced-turn.ts';

type TracedStep = TracedTurn['steps'][number];

/** A model call. Its input tokens include those read from and written into the provider's cache. */
export function callSpan(
  turn: TracedTurn,
  call: TracedStep['calls'][number],
  parent: SpanRef,
  { basis, surroundings: { servers } }: { basis: TraceBasis; surroundings: TraceSurroundings },
): Span {
  // The model of a turn is written without the default provider.
  const ref = call.model ?? turn.model;
  const { provider = DEFAULT_PROVIDER, model } = ref.includes('/') ? modelOfRef(ref) : { model: ref };
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = call.usage;
  const server = servers.get(provider);
  const responseId = turn.responseIds[call.n];
  const firstChunkMs = call.firstChunkAt === null ? null : basis.msOf(call.firstChunkAt) - basis.msOf(call.startedAt);
  return makeSpan({
    traceId: parent.traceId,
    spanId: basis.spanIdOf(SPAN_KEYS.call(turn.id, call.n)),
    parentSpanId: parent.spanId,
    name: `${OPERATIONS.chat} ${model}`,
    kind: 'client',
    startMs: basis.msOf(call.startedAt),
    endMs: basis.msOf(call.endedAt),
    attributes: {
      [ATTRIBUTES.operation]: OPERATIONS.chat,
      [ATTRIBUTES.provider]: provider,
      [ATTRIBUTES.requestModel]: model,
      [ATTRIBUTES.responseId]: responseId,
      [ATTRIBUTES.responseModel]: responseId === undefined ? null : model,
      [ATTRIBUTES.finishReasons]: call.stopReason === null ? null : [call.stopReason],
      [ATTRIBUTES.inputTokens]: inputTokens + cacheReadTokens + cacheWriteTokens,
      [ATTRIBUTES.outputTokens]: outputTokens,
      [ATTRIBUTES.cacheReadTokens]: cacheReadTokens,
      [ATTRIBUTES.cacheWriteTokens]: cacheWriteTokens,
      [ATTRIBUTES.timeToFirstChunk]: firstChunkMs === null ? null : Math.max(0, firstChunkMs) / 1000,
      [ATTRIBUTES.serverAddress]: server?.address,
      [ATTRIBUTES.serverPort]: server?.port,
      [ATTRIBUTES.callNumber]: call.n,
      [ATTRIBUTES.callPurpose]: call.purpose,
      [ATTRIBUTES.callTier]: call.tier,
      [ATTRIBUTES.callCostUsd]: call.costUsd,
    },
    errorType: call.status === 'ok' ? null : (readCode(call.error) ?? call.status),
  });
}

/** A tool call; one that has no end ended with the turn. */
export function toolSpan(
  turn: TracedTurn,
  tool: TracedStep['tools'][number] & { step: number },
  parent: SpanRef,
  basis: TraceBasis,
): Span {
  return makeSpan({
    traceId: parent.traceId,
    spanId: basis.spanIdOf(SPAN_KEYS.tool(turn.id, tool.step, tool.callId)),
    parentSpanId: parent.spanId,
    name: `${OPERATIONS.tool} ${tool.name}`,
    startMs: basis.msOf(tool.startedAt),
    endMs: basis.msOf(tool.endedAt ?? turn.endedAt ?? tool.startedAt),
    attributes: {
      [ATTRIBUTES.operation]: OPERATIONS.tool,
      [ATTRIBUTES.toolName]: tool.name,
      [ATTRIBUTES.toolCallId]: tool.callId,
      [ATTRIBUTES.toolType]: 'function',
      [ATTRIBUTES.toolRuns]: tool.runs,
      [ATTRIBUTES.toolOutcome]: tool.status,
    },
    errorType: tool.status === 'failed' || tool.status === 'unknown' ? `tool_${tool.status}` : null,
  });
}

export function compactionSpan(
  compaction: TracedTurn['compactions'][number],
  parent: SpanRef,
  basis: TraceBasis,
): Span {
  const { id, reason, status, tokensBefore, tokensAfter, startedAt, endedAt } = compaction;
  return makeSpan({
    traceId: parent.traceId,
    spanId: basis.spanIdOf(SPAN_KEYS.compaction(id)),
    parentSpanId: parent.spanId,
    name: SPAN_NAMES.compact,
    startMs: basis.msOf(startedAt),
    endMs: basis.msOf(endedAt ?? startedAt),
    attributes: {
      [ATTRIBUTES.compactionReason]: reason,
      [ATTRIBUTES.tokensBefore]: tokensBefore,
      [ATTRIBUTES.tokensAfter]: tokensAfter,
    },
    errorType: status === 'failed' || status === 'timedOut' ? `compaction_${status}` : null,
  });
}

/** A delivery that has ended, with all its attempts. */
export function deliverySpan(delivery: TracedDelivery, parent: SpanRef, basis: TraceBasis): Span {
  const { id, channel, status, attempts, httpStatus, createdAt, settledAt } = delivery;
  return makeSpan({
    traceId: parent.traceId,
    spanId: basis.spanIdOf(SPAN_KEYS.delivery(id)),
    parentSpanId: parent.spanId,
    name: SPAN_NAMES.deliver,
    kind: 'client',
    startMs: basis.msOf(createdAt),
    endMs: basis.msOf(settledAt ?? createdAt),
    attributes: {
      [ATTRIBUTES.deliveryId]: id,
      [ATTRIBUTES.channel]: channel,
      [ATTRIBUTES.deliveryStatus]: status,
      [ATTRIBUTES.deliveryAttempts]: attempts,
      [ATTRIBUTES.httpStatus]: httpStatus,
    },
    errorType: status === 'sent' ? null : `delivery_${status}`,
  });
}

/** A batch that has ended. Times are text in ISO 8601. */
export interface TracedBatch {
  id: string;
  /** Null: it has none. */
  name: string | null;
  agentId: string;
  outcome: string;
  /** How many of its items ended how. */
  counts: Readonly<Record<'total' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'expired', number>>;
  costUsd: number | null;
  createdAt: string;
  endedAt: string;
}

export function batchRef(batchId: string, basis: TraceBasis): SpanRef {
  const { traceId } = basis.traceOf({ key: SPAN_KEYS.batch(batchId), traceparent: null });
  return { traceId, spanId: basis.spanIdOf(SPAN_KEYS.batch(batchId)) };
}

export function batchSpan(batch: TracedBatch, basis: TraceBasis): Span {
  const name = batch.name ?? 'batch';
  return makeSpan({
    ...batchRef(batch.id, basis),
    parentSpanId: null,
    name: `${OPERATIONS.workflow} ${name}`,
    startMs: basis.msOf(batch.createdAt),
    endMs: basis.msOf(batch.endedAt),
    attributes: {
      [ATTRIBUTES.operation]: OPERATIONS.workflow,
      [ATTRIBUTES.workflowName]: name,
      [ATTRIBUTES.agentId]: batch.agentId,
      [ATTRIBUTES.batchId]: batch.id,
      [ATTRIBUTES.batchOutcome]: batch.outcome,
      ...Object.fromEntries(
        Object.entries(batch.counts).map(([ending, count]) => [`${ATTRIBUTES.batchItems}.${ending}`, count]),
      ),
      [ATTRIBUTES.costUsd]: batch.costUsd,
    },
    errorType: batch.outcome === 'failed' ? 'batch_failed' : null,
  });
}
