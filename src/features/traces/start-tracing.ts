// The traces of a process: turns and batches that have ended wait here, bounded, until their spans
// are made from the journal and exported, as OTEL_TRACES_SAMPLER says. What a crash loses of them,
// the process that notices the crash exports (docs/decisions/0068-traces.md).
import type { TraceSampler } from '../../config/schema-environment.ts';
import {
  formatTraceParent,
  type TraceParent,
  findOrigin,
  SPAN_KEYS,
  type Span,
  type TraceBasis,
} from '../../core/telemetry.ts';
import { systemClock, type Clock } from '../../clock.ts';
import { listProviderKeys, secretsOf, type Config } from '../../config.ts';
import { createRedact, type Redact } from '../../config/secrets.ts';
import { batchSpan } from './rules/step-spans.ts';
import type { TracedTurn, TraceSurroundings } from './rules/traced-turn.ts';
import { deliverySpans, turnSpans } from './rules/turn-spans.ts';
import { type Logger, createOutageLog } from '../../logger.ts';
import { LASTING_RETRY_MS, retryPassingFaults } from '../../database/passing-faults.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { findTurnsOfLost, viewBatchTraces, viewTurnTraces } from './views.ts';
import { deriveSpanId, deriveTrace } from '../../trace-ids.ts';
import type { Tracing, TurnRef } from '../../tracing.ts';
import { createSpanExporter, TraceQueue, type SpanExporter, type WaitingTrace } from './otlp-exporter.ts';
import type { OpenTracing } from '../../kernel/process-part.ts';
import { metricIn } from '../../metrics.ts';
import { ANTHROPIC_URL } from '../../model/account.ts';
import { APIS } from '../../model/ai-sdk/apis.ts';

/** True for a trace that is exported. `isKept`: a sampler by ratio keeps it. */
export function samples(
  sampler: TraceSampler,
  { parent, isKept }: { parent: TraceParent | null; isKept: () => boolean },
): boolean {
  if (parent !== null && sampler.startsWith('parentbased_')) return parent.isSampled;
  switch (sampler) {
    case 'always_on':
    case 'parentbased_always_on':
      return true;
    case 'always_off':
    case 'parentbased_always_off':
      return false;
    case 'traceidratio':
    case 'parentbased_traceidratio':
      return isKept();
    default:
      return sampler satisfies never;
  }
}

export interface TracingOptions {
  config: Config;
  logger: Logger;
  clock: Clock;
  views: ViewDatabase;
  /** The version of Holdfast. */
  version: string;
  /** Names this process. */
  instance: string;
  /**
   * Called with how many turns are not exported, because too many wait or the collector did not
   * take them.
   */
  onDropped: (turns: number) => void;
}

interface RunningTracing extends Tracing {
  /** Exports the waiting traces, as far as that is quick. */
  stop(): Promise<void>;
}

const BASIS: TraceBasis = { spanIdOf: deriveSpanId, traceOf: deriveTrace, msOf: Date.parse };
const SPANS_PER_REQUEST_MAX = 512;

/** Starts it; connects with the first trace. */
export function startTracing(options: TracingOptions): RunningTracing {
  const { config, logger, clock, views, version, instance } = options;
  const { traceSampler = 'parentbased_always_on', traceRatio = 1 } = config.runtime;
  const exporter = createSpanExporter({ version, instance, ratio: traceRatio });
  const sendAll = createSender(exporter, logger);
  const sampled = ({ traceId, parent }: ReturnType<typeof deriveTrace>): boolean =>
    samples(traceSampler, { parent, isKept: () => exporter.isKept(traceId) });
  const isSampled = ({ id, inputs }: TurnRef): boolean => sampled(deriveTrace(findOrigin(id, inputs)));
  const spansOf = createSpanMaker(config);
  async function read(waiting: ReadonlyMap<string, WaitingTrace>) {
    const ids = [...waiting.keys()];
    const batchIds = ids.filter((id) => waiting.get(id) === 'batch');
    const turnIds = ids.filter((id) => waiting.get(id) !== 'batch');
    return {
      turns: await viewTurnTraces(views, turnIds, {
        hasContent: config.telemetry.content,
        leaseMs: config.runtime.leaseMs,
      }),
      batches: batchIds.length === 0 ? [] : await viewBatchTraces(views, batchIds),
    };
  }
  async function exportTurns(waiting: ReadonlyMap<string, WaitingTrace>): Promise<boolean> {
    try {
      // An export that is given up is lost, so a restart of the database is waited for.
      const { turns, batches } = await retryPassingFaults(() => read(waiting), LASTING_RETRY_MS);
      return await sendAll([
        ...turns.filter(isSampled).flatMap((turn) => spansOf(turn, waiting.get(turn.id) ?? 'turn')),
        ...batches.map((batch) => batchSpan(batch, BASIS)).filter(({ traceId }) => sampled({ traceId, parent: null })),
      ]);
    } catch (error) {
      logger.warn({ err: error, traces: waiting.size }, 'Traces could not be read and are not exported');
      return false;
    }
  }

  const queue = new TraceQueue({ onDropped: options.onDropped, export: exportTurns });
  return {
    idsOf(turn) {
      const { traceId } = deriveTrace(findOrigin(turn.id, turn.inputs));
      return { traceId, spanId: deriveSpanId(SPAN_KEYS.turn(turn.id)) };
    },
    headerOf(turn, key) {
      const trace = deriveTrace(findOrigin(turn.id, turn.inputs));
      return formatTraceParent({ traceId: trace.traceId, spanId: deriveSpanId(key), isSampled: sampled(trace) });
    },
    turnEnded: (turnId) => queue.add(turnId, 'turn'),
    batchEnded: (batchId) => queue.add(batchId, 'batch'),
    deliveryEnded: (turnId) => queue.add(turnId, 'deliveries'),
    processesLost(names) {
      retryPassingFaults(() => findTurnsOfLost(views, names, clock.now()), LASTING_RETRY_MS).then(
        (turnIds) => turnIds.forEach((turnId) => queue.add(turnId, 'turn')),
        (error: unknown) => logger.warn({ err: error }, 'Traces of a lost process could not be exported again'),
      );
    },
    async stop() {
      await queue.stop();
      // An exporter that waits for its collector ends by itself.
      void exporter.stop().catch(() => undefined);
    },
  };
}

/**
 * Sends spans, in several requests if there are many; false when the collector has not accepted
 * them all.
 */
function createSender(exporter: SpanExporter, logger: Logger): (spans: readonly Span[]) => Promise<boolean> {
  const outages = createOutageLog({ dependency: 'collector', logger, isOutage: () => true });
  return async (spans) => {
    try {
      for (let at = 0; at < spans.length; at += SPANS_PER_REQUEST_MAX) {
        await exporter.send(spans.slice(at, at + SPANS_PER_REQUEST_MAX));
      }
      outages.answered();
      return true;
    } catch (error) {
      outages.failed(error);
      return false;
    }
  };
}

/** Makes the spans of a turn, without secrets. */
function createSpanMaker(config: Config): (turn: TracedTurn, part: WaitingTrace) => Span[] {
  const redact = createRedact(secretsOf(config));
  const surroundings = { servers: serversOf(config) };
  return (turn, part) => {
    if (part === 'deliveries') return deliverySpans(turn, BASIS);
    return turnSpans(redacted(turn, redact), BASIS, surroundings);
  };
}

/**
 * Where the models of each provider are asked; without those of packages and plugins, which alone
 * know it.
 */
function serversOf(config: Config): TraceSurroundings['servers'] {
  const known = listProviderKeys(config).flatMap(({ name, api, baseUrl }) => {
    const url = URL.parse(baseUrl ?? (api === 'anthropic' ? ANTHROPIC_URL : (APIS[api].list?.address ?? '')));
    if (url === null) return [];
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    return [[name, { address: url.hostname.replace(/^\[|\]$/g, ''), port }] as const];
  });
  return new Map(known);
}

/** The texts are all that others wrote freely. */
function redacted(turn: TracedTurn, redact: Redact): TracedTurn {
  if (turn.content === null) return turn;
  const { instructions, inputs, reply } = turn.content;
  return {
    ...turn,
    content: {
      instructions: instructions === null ? null : redact(instructions),
      inputs: inputs.map(redact),
      reply: reply === null ? null : redact(reply),
    },
  };
}

export const startTraces: OpenTracing = ({ service: { config, views }, logger, identity, metrics }) => {
  const dropped = metrics === null ? null : metricIn(metrics, 'holdfast_traces_dropped_total');
  return startTracing({
    config,
    logger,
    clock: systemClock,
    views,
    version: identity.version,
    instance: identity.name,
    onDropped: (turns) => dropped?.inc(turns),
  });
};
