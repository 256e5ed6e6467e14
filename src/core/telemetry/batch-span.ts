// The span of a batch that has ended, which is a separate trace: the turns of its items are linked to it.
import { ATTRIBUTES, OPERATIONS } from './conventions.ts';
import { makeSpan } from './span-draft.ts';
import { SPAN_KEYS, type Span, type SpanRef, type TraceBasis } from './span.ts';

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

/** The ids of its span. */
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
      ...(batch.costUsd === null ? {} : { [ATTRIBUTES.costUsd]: batch.costUsd }),
    },
    errorType: batch.outcome === 'failed' ? 'batch_failed' : null,
  });
}
