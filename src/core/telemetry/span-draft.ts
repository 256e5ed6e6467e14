// What all spans have in common when they are made from rows.
import type { Span } from './span.ts';

/** A span, without what most spans have not. */
export type SpanDraft = Pick<Span, 'traceId' | 'spanId' | 'parentSpanId' | 'name' | 'startMs' | 'endMs'> &
  Partial<Span>;

/** The span. Times of rows come from the clocks of several machines: one that ended before it began is empty. */
export function makeSpan(draft: SpanDraft): Span {
  return {
    kind: 'internal',
    attributes: {},
    links: [],
    events: [],
    errorType: null,
    ...draft,
    endMs: Math.max(draft.startMs, draft.endMs),
  };
}

/** The code of an error as rows hold it; null: it has none. */
export function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
