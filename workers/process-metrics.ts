// What a process measures: its turns, its role as a worker or a scheduler, and itself.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Registry } from 'prom-client';
import { type Clock, systemClock } from '../src/clock.ts';
import { metricIn, addNodeMetrics } from '../src/metrics.ts';
import type { LaneUse } from '../src/kernel/processes/report-worker.ts';
import type { TurnMeter, MeteredTurn } from '../src/kernel/turn/turn-meter.ts';
import type { JobEnd } from './queue/start-lane-worker.ts';
import { modelOfRef, refOfModel } from '../src/core/models.ts';
import type { ModelCallRow } from '../src/kernel/turn/journal/journal.ts';
import { laneOf } from '../src/kernel/turn/opened-turn.ts';
import type { Role } from '../src/kernel/process-part.ts';
import { startMetricsServer, type MetricsServer } from './metrics-server.ts';

/** How often the delay of the event loop is measured, in milliseconds. */
const LOOP_RESOLUTION_MS = 20;

/** The metrics that a worker calls; each is absent when it is not measured, and must not throw. */
export interface WorkMeters {
  /** Called after each job. */
  onJobEnd?: (end: JobEnd) => void;
  rateMetrics?: RateMetrics;
  meter?: TurnMeter;
}

/** Adds what a worker measures. */
export function createWorkMetrics(registry: Registry, clock: Clock): Required<WorkMeters> {
  const jobs = metricIn(registry, 'holdfast_jobs_total');
  return {
    onJobEnd: ({ queue, job, outcome }) => jobs.inc({ queue, job: job?.kind ?? 'unknown', outcome }),
    rateMetrics: createRateMetrics(registry, clock),
    meter: createTurnMetrics(registry),
  };
}

export interface RateMetrics {
  /** A call has waited for a rate limit or a block. */
  waited: (wait: { model: string; waitedMs: number }) => void;
  /** A model is blocked for so long, or its block was lifted. */
  blocked: (block: { model: string; leftMs: number; isLifted?: boolean }) => void;
}

/** Adds what is measured of waits for models. */
export function createRateMetrics(registry: Registry, clock: Clock): RateMetrics {
  const labelOf = createBoundedLabel();
  const untilMs = new Map<string, number>();
  const waits = metricIn(registry, 'holdfast_rate_wait_seconds');
  metricIn(registry, 'holdfast_model_blocked_seconds', (to) => {
    for (const [model, until] of untilMs) to.set({ model }, Math.max(0, until - clock.monotonicMs()) / 1000);
  });
  return {
    waited: ({ model, waitedMs }) => waits.observe({ model: labelOf(model) }, waitedMs / 1000),
    blocked: ({ model, leftMs, isLifted = false }) => {
      const label = labelOf(model);
      if (isLifted) untilMs.set(label, 0);
      else untilMs.set(label, Math.max(untilMs.get(label) ?? 0, clock.monotonicMs() + leftMs));
    },
  };
}

/** The values that are read on each scrape. */
export interface MeasuredFacts {
  version: string;
  lanes: () => Record<string, LaneUse>;
  /** How long ago the last report of this process was written, in milliseconds. */
  reportAgeMs: () => number;
  /** Callers that wait for a connection, by pool. */
  waiting: () => Record<string, number>;
  /** Faults since the process started, by dependency. */
  faults: () => Record<string, number>;
}

/**
 * Adds what any process measures of itself. Returns the function that ends what it measures with.
 */
export function createProcessMetrics(registry: Registry, facts: MeasuredFacts): () => void {
  metricIn(registry, 'holdfast_build_info', (to) => to.set({ version: facts.version }, 1));
  metricIn(registry, 'holdfast_slots', (to) => {
    for (const [lane, { slots }] of Object.entries(facts.lanes())) to.set({ lane }, slots);
  });
  metricIn(registry, 'holdfast_slots_in_use', (to) => {
    for (const [lane, { inUse }] of Object.entries(facts.lanes())) to.set({ lane }, inUse);
  });
  metricIn(registry, 'holdfast_report_age_seconds', (to) => to.set(facts.reportAgeMs() / 1000));
  metricIn(registry, 'holdfast_pool_waiting', (to) => {
    for (const [pool, count] of Object.entries(facts.waiting())) to.set({ pool }, count);
  });
  metricIn(registry, 'holdfast_dependency_faults_total', (to) => {
    for (const [dependency, count] of Object.entries(facts.faults())) to.inc({ dependency }, count);
  });
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delay.enable();
  metricIn(registry, 'holdfast_event_loop_lag_seconds', (to) => {
    to.set(Math.max(0, delay.percentile(99) / 1e9 - LOOP_RESOLUTION_MS / 1000) || 0);
    delay.reset();
  });
  return () => void delay.disable();
}

// A worker's metrics of its turns and their calls: counted in this process, after the commit, and
// kept in memory.

/**
 * Tools whose durations have series of their own: each has two histograms, 27 series, while a count
 * of calls is one series.
 */
const TIMED_TOOLS_MAX = 16;

/** The facts of a turn that are known before its end. */
interface Tally {
  /** In model calls, tools and waits for rates. */
  busyMs: number;
  compaction: string | null;
}

/** Adds the metrics to the registry. */
export function createTurnMetrics(registry: Registry): TurnMeter {
  const turns = metricIn(registry, 'holdfast_turns_ended_total');
  const ran = metricIn(registry, 'holdfast_turn_duration_seconds');
  const waited = metricIn(registry, 'holdfast_turn_wait_seconds');
  const overhead = metricIn(registry, 'holdfast_turn_overhead_seconds');
  const invoked = metricIn(registry, 'gen_ai_invoke_agent_duration_seconds');
  const takenOver = metricIn(registry, 'holdfast_locks_taken_over_total');
  const compactions = metricIn(registry, 'holdfast_compactions_total');
  const toolCalls = metricIn(registry, 'holdfast_tool_calls_total');
  const toolSeconds = metricIn(registry, 'holdfast_tool_call_duration_seconds');
  const executed = metricIn(registry, 'gen_ai_execute_tool_duration_seconds');
  const observeCall = createCallMetrics(registry);
  const [codeLabel, toolLabel, timedToolLabel] = [
    createBoundedLabel(),
    createBoundedLabel(),
    createBoundedLabel(TIMED_TOOLS_MAX),
  ];
  const tallies = new WeakMap<MeteredTurn, Tally>();
  const findTally = (turn: MeteredTurn): Tally => {
    const tally = tallies.get(turn) ?? { busyMs: 0, compaction: null };
    tallies.set(turn, tally);
    return tally;
  };
  return {
    turnEnded(turn, { status, error, figures: { attempt, waitedMs, ranMs } }) {
      const [lane, { kind }] = [laneOf(turn), turn];
      turns.inc({ status, kind, lane, code: error === null ? '' : codeLabel(error.code) });
      ran.observe({ lane, kind }, ranMs / 1000);
      waited.observe({ lane, reason: 'queue' }, waitedMs / 1000);
      invoked.observe(
        {
          gen_ai_operation_name: 'invoke_agent',
          gen_ai_agent_name: turn.agent.id,
          error_type: error === null ? '' : codeLabel(error.code),
        },
        ranMs / 1000,
      );
      // What earlier workers did in a turn is not known here.
      if (attempt === 1) overhead.observe(Math.max(0, ranMs - findTally(turn).busyMs) / 1000);
    },
    turnTakenOver: (lane) => takenOver.inc({ lane }),
    modelCalled(turn, call) {
      const { durationMs = 0, rateWaitMs = 0 } = call.notes ?? {};
      findTally(turn).busyMs += durationMs + rateWaitMs;
      if (rateWaitMs > 0) waited.observe({ lane: laneOf(turn), reason: 'rate' }, rateWaitMs / 1000);
      observeCall(turn.agent.id, call);
    },
    toolRan(turn, { name, status, durationMs }) {
      findTally(turn).busyMs += durationMs;
      toolCalls.inc({ tool: toolLabel(name), status });
      const tool = timedToolLabel(name);
      toolSeconds.observe({ tool }, durationMs / 1000);
      executed.observe({ gen_ai_operation_name: 'execute_tool', gen_ai_tool_name: tool }, durationMs / 1000);
    },
    compactionBegan: (turn, reason) => void (findTally(turn).compaction = reason),
    compactionStored(turn, step) {
      // The summary is stored, and the compaction continues.
      if (step === 'answered') return;
      const reason = findTally(turn).compaction ?? turn.journal.attempt.interruptedCompaction ?? 'unknown';
      compactions.inc({ reason, status: step });
    },
  };
}

/**
 * Adds the metrics to the registry and returns the function that measures a call which is
 * committed.
 */
function createCallMetrics(registry: Registry): (agent: string, call: ModelCallRow) => void {
  const calls = metricIn(registry, 'holdfast_model_calls_total');
  const failures = metricIn(registry, 'holdfast_model_call_failures_total');
  const tokens = metricIn(registry, 'holdfast_model_tokens_total');
  const cost = metricIn(registry, 'holdfast_model_cost_dollars_total');
  const seconds = metricIn(registry, 'holdfast_model_call_duration_seconds');
  const firstChunk = metricIn(registry, 'holdfast_model_first_chunk_seconds');
  const genAiTokens = metricIn(registry, 'gen_ai_client_token_usage');
  const genAiSeconds = metricIn(registry, 'gen_ai_client_operation_duration_seconds');
  const genAiFirstChunk = metricIn(registry, 'gen_ai_client_operation_time_to_first_chunk_seconds');
  const [modelLabel, codeLabel] = [createBoundedLabel(), createBoundedLabel()];
  return (agent, call) => {
    const { tier, status, error, costMicros } = call;
    const model = modelLabel(call.model);
    calls.inc({ model, tier, status });
    const code = error === null ? null : codeLabel(typeof error['code'] === 'string' ? error['code'] : 'unknown');
    if (code !== null) failures.inc({ model, code });
    for (const [kind, count] of listTokens(call)) if (count > 0) tokens.inc({ model, tier, kind }, count);
    if (costMicros !== null) cost.inc({ model, tier, agent }, costMicros / 1_000_000);
    const labels = commonLabels(model);
    genAiTokens.observe({ ...labels, gen_ai_token_type: 'input' }, sumInputTokens(call));
    genAiTokens.observe({ ...labels, gen_ai_token_type: 'output' }, call.outputTokens);
    // A call in a batch of the provider takes hours, and one that was never sent no time.
    if (tier === 'batch' || call.notes === undefined) return;
    const duration = call.notes.durationMs / 1000;
    seconds.observe({ model }, duration);
    genAiSeconds.observe({ ...labels, error_type: code ?? '' }, duration);
    if (call.firstChunkAt === null) return;
    const first = Math.max(0, call.firstChunkAt.getTime() - call.startedAt.getTime()) / 1000;
    firstChunk.observe({ model }, first);
    genAiFirstChunk.observe(labels, first);
  };
}

function listTokens(call: ModelCallRow): [kind: string, count: number][] {
  return [
    ['input', call.inputTokens],
    ['output', call.outputTokens],
    ['cache_read', call.cacheReadTokens],
    ['cache_write', call.cacheWriteTokens],
  ];
}

/** The conventions count cached tokens as input. */
function sumInputTokens({ inputTokens, cacheReadTokens, cacheWriteTokens }: ModelCallRow): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens;
}

function commonLabels(ref: string) {
  const { provider, model } = ref.includes('/') ? modelOfRef(ref) : { model: ref };
  const [name = 'other'] = refOfModel({ model, ...(provider === undefined ? {} : { provider }) }).split('/');
  return { gen_ai_operation_name: 'chat', gen_ai_provider_name: name, gen_ai_request_model: model };
}

// Bounds the number of values of a label, so that a scrape stays small however many models, tools
// and codes there are.

/** The most values of one label in a process; the rest is `other`. */
export const LABEL_VALUES_MAX = 100;

/**
 * Makes a function that returns its text while there are at most so many of them, and `other` for
 * any further one.
 */
export function createBoundedLabel(valuesMax = LABEL_VALUES_MAX): (text: string) => string {
  const known = new Set<string>();
  return (text) => {
    if (known.size < valuesMax) known.add(text);
    return known.has(text) ? text : 'other';
  };
}

// The metrics of a process: one registry that all of its parts write to, and a server for it in a
// process without the API.

export interface MeasuredProcess {
  roles: readonly Role[];
  host: string;
  /** The port of the metrics of a process without the API; absent: it measures nothing. */
  port: number | undefined;
}

/** The meters of a process; null and absent: nothing measures it. */
export type ProcessMeters = ReturnType<typeof measureProcess>;

/** Makes the meters that its roles need. */
export function measureProcess({ roles, host, port }: MeasuredProcess) {
  const isApi = roles.includes('api');
  if (!isApi && port === undefined) return null;
  const registry = new Registry();
  const statementSeconds = metricIn(registry, 'holdfast_statement_duration_seconds');
  const repeatedRings = metricIn(registry, 'holdfast_rings_repeated_total');
  return {
    registry,
    /** Names are those of `npm run sql`. */
    onStatement: (name: string, durationMs: number): void => statementSeconds.observe({ name }, durationMs / 1000),
    onRepeated: (rings: number): void => repeatedRings.inc(rings),
    work: roles.includes('worker') ? createWorkMetrics(registry, systemClock) : null,
    /**
     * Adds the facts that are known when everything runs. Resolves with the server; null: the API
     * serves the metrics.
     */
    async start(
      facts: MeasuredFacts,
      enders: { push: (end: () => Promise<unknown>) => unknown },
    ): Promise<MetricsServer | null> {
      const stop = createProcessMetrics(registry, facts);
      enders.push(async () => stop());
      if (isApi || port === undefined) return null;
      addNodeMetrics(registry);
      const server = await startMetricsServer(registry, { host, port });
      enders.push(() => server.close());
      return server;
    },
  };
}
