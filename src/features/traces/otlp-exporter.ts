// Writes spans with OpenTelemetry's exporter: OTLP as JSON over HTTP, as the standard variables OTEL_* say. The only file that loads it.
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, type HrTime } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { SamplingDecision, TraceIdRatioBasedSampler, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { SCHEMA_URL } from './rules/conventions.ts';
import type { Span, SpanRef } from '../../core/telemetry/span.ts';

export interface SpanExporter {
  /** Resolves when the collector has accepted them; rejects when it has not, after the exporter's own retries. */
  send(spans: readonly Span[]): Promise<void>;
  /** True for a trace that a sampler by ratio keeps. */
  isKept(traceId: string): boolean;
  stop(): Promise<void>;
}

export interface ExporterOptions {
  /** Of Holdfast. */
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
