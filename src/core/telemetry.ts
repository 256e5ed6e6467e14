// What traces are made of: the spans, and the `traceparent` header of W3C Trace Context: which
// trace a request belongs to, and which span made it.
import { cutHead } from './text.ts';

export interface TraceParent {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  /** Whether the sender records the trace. */
  isSampled: boolean;
}

const CHARS_MAX = 512;
/** Versions after 00 may add fields at the end. */
const HEADER = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The parsed header; null when it is invalid. */
export function parseTraceParent(header: string): TraceParent | null {
  const [, version, traceId, spanId, flags = '', more] = HEADER.exec(cutHead(header, CHARS_MAX)) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && more !== undefined)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The header of a request that a span makes. */
export function formatTraceParent({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

// Spans as they are made from rows, before an exporter writes them.

type AttributeValue = string | number | boolean | readonly string[];

export interface SpanRef {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
}

export interface SpanEvent {
  name: string;
  /** Milliseconds since the epoch. */
  atMs: number;
  attributes: Record<string, AttributeValue>;
}

export interface Span extends SpanRef {
  name: string;
  kind: 'internal' | 'server' | 'client';
  /** Null: the first of its trace. It may belong to another service. */
  parentSpanId: string | null;
  /** Milliseconds since the epoch. */
  startMs: number;
  /** Not before `startMs`. */
  endMs: number;
  attributes: Record<string, AttributeValue>;
  links: readonly SpanRef[];
  events: readonly SpanEvent[];
  /** Null: the measured operation did not fail. */
  errorType: string | null;
}

/**
 * What decides the ids of a trace: the key of the row that it begins with, and the header of that
 * row's request.
 */
export interface TraceOrigin {
  /** The key from `findOrigin`. */
  key: string;
  traceparent: string | null;
}

/** The input of a turn that decides its trace. */
export interface TracedOrigin {
  id: string;
  seq: number;
  traceparent: string | null;
}

/**
 * What spans are made with that the core does not have: hashes, see src/trace-ids.ts, and dates.
 */
export interface TraceBasis {
  spanIdOf: (name: string) => string;
  traceOf: (origin: TraceOrigin) => { traceId: string; parent: TraceParent | null };
  /** The milliseconds since the epoch of a time in ISO 8601. */
  msOf: (time: string) => number;
}

export const SPAN_KEYS = {
  accept: (messageId: string) => `accept:${messageId}`,
  turn: (turnId: string) => `turn:${turnId}`,
  wait: (turnId: string, name: string, n: number) => `wait:${turnId}:${name}:${n}`,
  call: (turnId: string, callNo: number) => `call:${turnId}:${callNo}`,
  tool: (turnId: string, step: number, callId: string) => `tool:${turnId}:${step}:${callId}`,
  compaction: (compactionId: string) => `compaction:${compactionId}`,
  delivery: (deliveryId: string) => `delivery:${deliveryId}`,
  batch: (batchId: string) => `batch:${batchId}`,
} as const;

/** A turn belongs to the trace of the first of its inputs; one without inputs has its own trace. */
export function findOrigin(turnId: string, inputs: readonly TracedOrigin[]): TraceOrigin {
  const [first] = inputs.toSorted((a, b) => a.seq - b.seq);
  return first === undefined
    ? { key: `turn:${turnId}`, traceparent: null }
    : { key: `message:${first.id}`, traceparent: first.traceparent };
}

/** A span, without what most spans have not. */
export type SpanDraft = Pick<Span, 'traceId' | 'spanId' | 'parentSpanId' | 'name' | 'startMs' | 'endMs'> &
  Partial<Omit<Span, 'attributes'>> & { attributes?: Record<string, AttributeValue | null | undefined> };

/**
 * The span, with the attributes that have a value. Times of rows come from the clocks of several
 * machines: one that ended before it began is empty.
 */
export function makeSpan({ attributes = {}, ...draft }: SpanDraft): Span {
  const known = Object.entries(attributes).filter(
    (entry): entry is [string, AttributeValue] => (entry[1] ?? null) !== null,
  );
  return {
    kind: 'internal',
    attributes: Object.fromEntries(known),
    links: [],
    events: [],
    errorType: null,
    ...draft,
    endMs: Math.max(draft.startMs, draft.endMs),
  };
}

/** The code of an error as rows hold it; null: it has none. */
export function readCode(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
