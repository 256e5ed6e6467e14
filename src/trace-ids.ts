// The ids of traces and spans. They follow from the ids of rows, so every process that knows a row
// knows them, and a trace that is exported twice is the same trace.
import { hash } from 'node:crypto';
import { type TraceOrigin, parseTraceParent, type TraceParent } from './core/telemetry.ts';

/** 16 hexadecimal digits. `name`: as `SPAN_KEYS` says. */
export function deriveSpanId(name: string): string {
  return hash('sha256', name).slice(0, 16);
}

/** The trace that begins with this row, or that its request belongs to. */
export function deriveTrace({ key, traceparent }: TraceOrigin): { traceId: string; parent: TraceParent | null } {
  const parent = traceparent === null ? null : parseTraceParent(traceparent);
  return { traceId: parent?.traceId ?? hash('sha256', `trace:${key}`).slice(0, 32), parent };
}
