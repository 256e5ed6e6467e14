// The interface of a process's parts to its traces. The implementation is loaded only when traces
// are exported (src/features/traces).
import type { TracedOrigin } from './core/telemetry.ts';

/** A turn, by what its trace id follows from. */
export interface TurnRef {
  id: string;
  inputs: readonly TracedOrigin[];
}

/** Nothing of it waits or throws. */
export interface Tracing {
  /** The ids of the span of a turn, for log lines. */
  idsOf(turn: TurnRef): { traceId: string; spanId: string };
  /**
   * The `traceparent` header of a request that a span of the turn makes; `key`: one of `SPAN_KEYS`.
   */
  headerOf(turn: TurnRef, key: string): string;
  /** Exports the trace of a turn that has ended. */
  turnEnded(turnId: string): void;
  /** Exports the deliveries of a turn that has ended, after one of them. */
  deliveryEnded(turnId: string): void;
  /** Exports the span of a batch that has ended. */
  batchEnded(batchId: string): void;
  /** Exports again what these processes may not have exported any more. */
  processesLost(names: readonly string[]): void;
}
