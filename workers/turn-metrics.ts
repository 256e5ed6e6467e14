// A worker's metrics of its turns and their calls: counted in this process, after the commit, and kept in memory.
import type { Registry } from 'prom-client';
import { modelOfRef, refOfModel } from '../src/core/model-ref.ts';
import { metricIn } from '../src/metrics.ts';
import type { ModelCallRow } from '../src/kernel/turn/journal/journal.ts';
import { laneOf } from '../src/kernel/turn/opened-turn.ts';
import type { MeteredTurn, TurnMeter } from '../src/kernel/turn/turn-meter.ts';
import { createBoundedLabel } from './bounded-label.ts';

/** Tools whose durations have series of their own: each has two histograms, 27 series, while a count of calls is one series. */
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

/** Adds the metrics to the registry and returns the function that measures a call which is committed. */
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
