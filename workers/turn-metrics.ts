// A worker's metrics of its turns: counted in this process, after the commit, and kept in memory.
import { Counter, Histogram, type Registry } from 'prom-client';
import { laneOf } from '../src/turn/opened-turn.ts';
import type { MeteredTurn, TurnMeter } from '../src/turn/turn-meter.ts';
import { createBoundedLabel } from './bounded-label.ts';
import { createModelMetrics, GEN_AI_SECONDS } from './model-metrics.ts';

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800];
const OVERHEAD_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

const TOOL_SECONDS = [0.05, 0.25, 1, 5, 30, 120, 600];

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
  const { turns, overhead, takenOver, compactions, ...seconds } = createSeries(registry);
  const tools = createToolSeries(registry);
  const observeCall = createModelMetrics(registry);
  const [codeLabel, toolLabel, timedToolLabel] = [
    createBoundedLabel(),
    createBoundedLabel(),
    createBoundedLabel(TIMED_TOOLS_MAX),
  ];
  const tallies = new WeakMap<MeteredTurn, Tally>();
  const tallyOf = (turn: MeteredTurn): Tally => {
    const tally = tallies.get(turn) ?? { busyMs: 0, compaction: null };
    tallies.set(turn, tally);
    return tally;
  };
  return {
    turnEnded(turn, { status, error, figures: { attempt, waitedMs, ranMs } }) {
      const [lane, { kind }] = [laneOf(turn), turn];
      turns.inc({ status, kind, lane, code: error === null ? '' : codeLabel(error.code) });
      seconds.ran.observe({ lane, kind }, ranMs / 1000);
      seconds.waited.observe({ lane, reason: 'queue' }, waitedMs / 1000);
      seconds.invoked.observe(
        {
          gen_ai_operation_name: 'invoke_agent',
          gen_ai_agent_name: turn.agent.id,
          error_type: error === null ? '' : codeLabel(error.code),
        },
        ranMs / 1000,
      );
      // What earlier workers did in a turn is not known here.
      if (attempt === 1) overhead.observe(Math.max(0, ranMs - tallyOf(turn).busyMs) / 1000);
    },
    turnTakenOver: (lane) => takenOver.inc({ lane }),
    modelCalled(turn, call) {
      const { durationMs = 0, rateWaitMs = 0 } = call.notes ?? {};
      tallyOf(turn).busyMs += durationMs + rateWaitMs;
      if (rateWaitMs > 0) seconds.waited.observe({ lane: laneOf(turn), reason: 'rate' }, rateWaitMs / 1000);
      observeCall(turn.agent.id, call);
    },
    toolRan(turn, { name, status, durationMs }) {
      tallyOf(turn).busyMs += durationMs;
      tools.calls.inc({ tool: toolLabel(name), status });
      const tool = timedToolLabel(name);
      tools.seconds.observe({ tool }, durationMs / 1000);
      tools.executed.observe({ gen_ai_operation_name: 'execute_tool', gen_ai_tool_name: tool }, durationMs / 1000);
    },
    compactionBegan: (turn, reason) => void (tallyOf(turn).compaction = reason),
    compactionStored(turn, step) {
      // The summary is stored, and the compaction continues.
      if (step === 'answered') return;
      const reason = tallyOf(turn).compaction ?? turn.journal.attempt.interruptedCompaction ?? 'unknown';
      compactions.inc({ reason, status: step });
    },
  };
}

function createSeries(registry: Registry) {
  const registers = [registry];
  return {
    turns: new Counter({
      name: 'holdfast_turns_ended_total',
      help: 'Ended turns; `code` is empty without an error',
      labelNames: ['status', 'kind', 'lane', 'code'] as const,
      registers,
    }),
    ran: new Histogram({
      name: 'holdfast_turn_duration_seconds',
      help: 'Time from the start of a turn to its end',
      labelNames: ['lane', 'kind'] as const,
      buckets: SECONDS,
      registers,
    }),
    waited: new Histogram({
      name: 'holdfast_turn_wait_seconds',
      help: 'Time that turns waited: `queue` before they started, `rate` for a rate limit or a block of their model',
      labelNames: ['lane', 'reason'] as const,
      buckets: SECONDS,
      registers,
    }),
    overhead: new Histogram({
      name: 'holdfast_turn_overhead_seconds',
      help: 'Time that a turn spent outside model calls, tools and rate limits, for turns with one attempt',
      buckets: OVERHEAD_SECONDS,
      registers,
    }),
    invoked: new Histogram({
      name: 'gen_ai_invoke_agent_duration_seconds',
      help: 'Duration of turns, by the conventions of OpenTelemetry for generative AI',
      labelNames: ['gen_ai_operation_name', 'gen_ai_agent_name', 'error_type'] as const,
      buckets: GEN_AI_SECONDS,
      registers,
    }),
    takenOver: new Counter({
      name: 'holdfast_locks_taken_over_total',
      help: 'Turns that this worker resumed because their worker was lost or had left',
      labelNames: ['lane'] as const,
      registers,
    }),
    compactions: new Counter({
      name: 'holdfast_compactions_total',
      help: 'Attempts to compact a transcript',
      labelNames: ['reason', 'status'] as const,
      registers,
    }),
  };
}

function createToolSeries(registry: Registry) {
  const registers = [registry];
  return {
    calls: new Counter({
      name: 'holdfast_tool_calls_total',
      help: 'Tool calls',
      labelNames: ['tool', 'status'] as const,
      registers,
    }),
    seconds: new Histogram({
      name: 'holdfast_tool_call_duration_seconds',
      help: 'Duration of tool calls',
      labelNames: ['tool'] as const,
      buckets: TOOL_SECONDS,
      registers,
    }),
    executed: new Histogram({
      name: 'gen_ai_execute_tool_duration_seconds',
      help: 'Duration of tool calls, by the conventions of OpenTelemetry for generative AI',
      labelNames: ['gen_ai_operation_name', 'gen_ai_tool_name'] as const,
      buckets: GEN_AI_SECONDS,
      registers,
    }),
  };
}
