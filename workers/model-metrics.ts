// A worker's metrics of its model calls.
import { Counter, Histogram, type Registry } from 'prom-client';
import { refOfModel, modelOfRef } from '../src/core/model-ref.ts';
import type { ModelCallRow } from '../src/store/journal.ts';
import { createBoundedLabel } from './bounded-label.ts';

const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];
/** Those of the conventions for generative AI. */
export const GEN_AI_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const GEN_AI_TOKENS = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];

/** Adds the metrics to the registry and returns the function that measures a call which is committed. */
export function createModelMetrics(registry: Registry): (agent: string, call: ModelCallRow) => void {
  const own = createSeries(registry);
  const common = createCommonSeries(registry);
  const [modelLabel, codeLabel] = [createBoundedLabel(), createBoundedLabel()];
  return (agent, call) => {
    const { tier, status, error, costMicros } = call;
    const model = modelLabel(call.model);
    own.calls.inc({ model, tier, status });
    const code = error === null ? null : codeLabel(typeof error['code'] === 'string' ? error['code'] : 'unknown');
    if (code !== null) own.failures.inc({ model, code });
    for (const [kind, count] of tokensOf(call)) if (count > 0) own.tokens.inc({ model, tier, kind }, count);
    if (costMicros !== null) own.cost.inc({ model, tier, agent }, costMicros / 1_000_000);
    const labels = commonLabels(model);
    common.tokens.observe({ ...labels, gen_ai_token_type: 'input' }, inputTokensOf(call));
    common.tokens.observe({ ...labels, gen_ai_token_type: 'output' }, call.outputTokens);
    // A call in a batch of the provider takes hours, and one that was never sent no time.
    if (tier === 'batch' || call.notes === undefined) return;
    const seconds = call.notes.durationMs / 1000;
    own.seconds.observe({ model }, seconds);
    common.seconds.observe({ ...labels, error_type: code ?? '' }, seconds);
    if (call.firstChunkAt === null) return;
    const first = Math.max(0, call.firstChunkAt.getTime() - call.startedAt.getTime()) / 1000;
    own.firstChunk.observe({ model }, first);
    common.firstChunk.observe(labels, first);
  };
}

function tokensOf(call: ModelCallRow): [kind: string, count: number][] {
  return [
    ['input', call.inputTokens],
    ['output', call.outputTokens],
    ['cache_read', call.cacheReadTokens],
    ['cache_write', call.cacheWriteTokens],
  ];
}

/** The conventions count cached tokens as input. */
function inputTokensOf({ inputTokens, cacheReadTokens, cacheWriteTokens }: ModelCallRow): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens;
}

function commonLabels(ref: string) {
  const { provider, model } = ref.includes('/') ? modelOfRef(ref) : { model: ref };
  const [name = 'other'] = refOfModel({ model, ...(provider === undefined ? {} : { provider }) }).split('/');
  return { gen_ai_operation_name: 'chat', gen_ai_provider_name: name, gen_ai_request_model: model };
}

function createSeries(registry: Registry) {
  const registers = [registry];
  return {
    calls: new Counter({
      name: 'holdfast_model_calls_total',
      help: 'Model calls; each retry counts as a call',
      labelNames: ['model', 'tier', 'status'] as const,
      registers,
    }),
    failures: new Counter({
      name: 'holdfast_model_call_failures_total',
      help: 'Model calls that failed or were interrupted, by error code; each retry counts as a call',
      labelNames: ['model', 'code'] as const,
      registers,
    }),
    tokens: new Counter({
      name: 'holdfast_model_tokens_total',
      help: 'Tokens of model calls; the kinds exclude each other',
      labelNames: ['model', 'tier', 'kind'] as const,
      registers,
    }),
    cost: new Counter({
      name: 'holdfast_model_cost_dollars_total',
      help: 'Cost of model calls',
      labelNames: ['model', 'tier', 'agent'] as const,
      registers,
    }),
    seconds: new Histogram({
      name: 'holdfast_model_call_duration_seconds',
      help: 'Duration of live model calls',
      labelNames: ['model'] as const,
      buckets: SECONDS,
      registers,
    }),
    firstChunk: new Histogram({
      name: 'holdfast_model_first_chunk_seconds',
      help: 'Time from the start of a live model call to the first part of its answer',
      labelNames: ['model'] as const,
      buckets: SECONDS,
      registers,
    }),
  };
}

/** Those of the conventions of OpenTelemetry for generative AI. */
function createCommonSeries(registry: Registry) {
  const labels = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;
  const registers = [registry];
  return {
    tokens: new Histogram({
      name: 'gen_ai_client_token_usage',
      help: 'Tokens of a model call; tokens read from and written to the cache count as input',
      labelNames: [...labels, 'gen_ai_token_type'],
      buckets: GEN_AI_TOKENS,
      registers,
    }),
    seconds: new Histogram({
      name: 'gen_ai_client_operation_duration_seconds',
      help: 'Duration of live model calls',
      labelNames: [...labels, 'error_type'],
      buckets: GEN_AI_SECONDS,
      registers,
    }),
    firstChunk: new Histogram({
      name: 'gen_ai_client_operation_time_to_first_chunk_seconds',
      help: 'Time from the start of a live model call to the first part of its answer',
      labelNames: labels,
      buckets: GEN_AI_SECONDS,
      registers,
    }),
  };
}
