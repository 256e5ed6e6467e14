// The `traceparent` header of W3C Trace Context: which trace a request belongs to, and which span made it.
import { cutHead } from '../text.ts';

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
