// Writes spans with OpenTelemetry's exporter: OTLP as JSON over HTTP, as the standard variables
// OTEL_* say. The only file that loads it.
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, type HrTime } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { SamplingDecision, TraceIdRatioBasedSampler, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { SCHEMA_URL } from './rules/conventions.ts';
import type { Span, SpanRef } from '../../core/telemetry.ts';

export interface SpanExporter {
  /**
   * Resolves when the collector has accepted them; rejects when it has not, after the exporter's
   * own retries.
   */
  send(spans: readonly Span[]): Promise<void>;
  /** True for a trace that a sampler by ratio keeps. */
  isKept(traceId: string): boolean;
  stop(): Promise<void>;
}

export interface ExporterOptions {
  /** The version of Holdfast. */
  version: string;
  /** Names this process. */
  instance: string;
  /** The part of traces that is kept, 0 to 1. */
  ratio: number;
}

const KINDS = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;

/** Opens it; connects with the first spans. */
export function createSpanExporter({ version, instance, ratio }: ExporterOptions): SpanExporter {
  const exporter = new OTLPTraceExporter();
  const sampler = new TraceIdRatioBasedSampler(ratio);
  const own = { 'service.name': 'holdfast', 'service.version': version, 'service.instance.id': instance };
  const common = {
    // The environment's resource attributes take precedence.
    resource: resourceFromAttributes(own).merge(detectResources({ detectors: [envDetector] })),
    instrumentationScope: { name: 'holdfast', version, schemaUrl: SCHEMA_URL },
  };
  return {
    send: (spans) =>
      new Promise((resolve, reject) => {
        exporter.export(
          spans.map((span) => toReadable(span, common)),
          ({ code, error }) => {
            if (code === 0) resolve();
            else reject(error ?? new Error('The collector did not take the spans.'));
          },
        );
      }),
    isKept: (traceId) => sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED,
    stop: () => exporter.shutdown(),
  };
}

function toReadable(span: Span, common: Pick<ReadableSpan, 'resource' | 'instrumentationScope'>): ReadableSpan {
  const { name, kind, startMs, endMs, parentSpanId, traceId, errorType } = span;
  return {
    ...common,
    name,
    kind: KINDS[kind],
    spanContext: () => toContext(span),
    ...(parentSpanId === null ? {} : { parentSpanContext: toContext({ traceId, spanId: parentSpanId }) }),
    startTime: toHrTime(startMs),
    endTime: toHrTime(endMs),
    duration: toHrTime(endMs - startMs),
    status: { code: errorType === null ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
    attributes: toAttributes({ ...span.attributes, ...(errorType === null ? {} : { 'error.type': errorType }) }),
    links: span.links.map((link) => ({ context: toContext(link) })),
    events: span.events.map((event) => ({
      name: event.name,
      time: toHrTime(event.atMs),
      attributes: toAttributes(event.attributes),
    })),
    ended: true,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function toContext({ traceId, spanId }: SpanRef) {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
}

function toAttributes(attributes: Span['attributes']): ReadableSpan['attributes'] {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === 'object' ? [...value] : value]),
  );
}

/** Seconds and nanoseconds. */
function toHrTime(ms: number): HrTime {
  return [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
}

// The turns and batches whose traces wait to be exported: at most 2,048, each once. One export runs
// at a time, so a collector that is slow or away costs a bounded amount of memory, and no turn
// waits for it.

/**
 * The subject of an export: a batch, a turn, or only the deliveries of a turn, because the rest was
 * exported before.
 */
export type WaitingTrace = 'batch' | 'turn' | 'deliveries';

export interface TraceQueueOptions {
  /** Exports these; false when that was not possible. Must not reject. */
  export: (waiting: ReadonlyMap<string, WaitingTrace>) => Promise<boolean>;
  /** Called with how many of them are given up. Must not throw. */
  onDropped: (traces: number) => void;
  /** How long turns are gathered for one export; absent: `GATHER_MS`. */
  gatherMs?: number;
}

export const TRACES_WAITING_MAX = 2048;

/** Turns that end within this time are read and sent together, in milliseconds. */
const GATHER_MS = 500;
const TRACES_PER_EXPORT_MAX = 64;
/** A process that stops gives the last export so long, in milliseconds. */
const STOP_MS = 2_000;

export class TraceQueue {
  readonly #options: TraceQueueOptions;
  readonly #waiting = new Map<string, WaitingTrace>();
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: TraceQueueOptions) {
    this.#options = options;
  }

  add(id: string, part: WaitingTrace): void {
    const known = this.#waiting.get(id);
    if (known === undefined && (this.#isStopped || this.#waiting.size >= TRACES_WAITING_MAX)) {
      this.#options.onDropped(1);
      return;
    }
    this.#waiting.set(id, known === 'turn' ? known : part);
    this.#schedule();
  }

  /** Exports the waiting traces, for at most two seconds; the rest is dropped. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#begin();
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<void>((resolve) => (timer = setTimeout(resolve, STOP_MS)));
    await Promise.race([this.#round, deadline]);
    clearTimeout(timer);
    if (this.#waiting.size > 0) this.#options.onDropped(this.#waiting.size);
    this.#waiting.clear();
  }

  #schedule(): void {
    if (this.#round !== null || this.#timer !== null) return;
    this.#timer = setTimeout(() => this.#begin(), this.#options.gatherMs ?? GATHER_MS);
    this.#timer.unref();
  }

  #begin(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#round ??= this.#work().finally(() => {
      this.#round = null;
      if (this.#waiting.size > 0) this.#schedule();
    });
  }

  /**
   * What arrives during an export is gathered again: many small exports would cost more than the
   * turns' own reads.
   */
  async #work(): Promise<void> {
    do {
      const taken = new Map([...this.#waiting].slice(0, TRACES_PER_EXPORT_MAX));
      for (const id of taken.keys()) this.#waiting.delete(id);
      if (taken.size > 0 && !(await this.#options.export(taken))) this.#options.onDropped(taken.size);
    } while (this.#waiting.size >= (this.#isStopped ? 1 : TRACES_PER_EXPORT_MAX));
  }
}
