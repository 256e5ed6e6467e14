// The metrics of a worker: a bounded number of series, and figures with the meaning given in
// docs/operations.md.
import { expect, onTestFinished, test } from 'vitest';
import { createMetrics } from '../../src/api/services.ts';
import { DOOR, ROUTES } from '../../scripts/all-routes.ts';
import type { ApiContext } from '../../src/api/context.ts';
import { LANES } from '../../src/config.ts';
import { measureProcess } from '../../workers/process-metrics.ts';
import { startMetricsServer } from '../../workers/metrics-server.ts';
import type { ModelCallRow } from '../../src/kernel/turn/journal/journal.ts';
import type { MeteredTurn } from '../../src/kernel/turn/turn-meter.ts';

const FACTS = {
  version: '1.2.3',
  lanes: () => ({}),
  reportAgeMs: () => 0,
  waiting: () => ({}),
  faults: () => ({ database: 0, queue: 0 }),
};

const NOW = { requestsInside: () => 0, eventStreams: () => 0, waitingRequests: () => 0 };

/** No statement is sent before a scrape. */
const CONTEXT = {
  service: { database: {} },
  config: { channels: { platforms: { chat: { adapter: 'telegram', accounts: { main: {} } } } } },
} as unknown as ApiContext;
const ADDED = DOOR.parts.flatMap((create) => create(CONTEXT).addMetrics ?? []);

const TURN: MeteredTurn = {
  kind: 'message',
  session: { lane: 'main' },
  agent: { id: 'main' },
  journal: { attempt: { interruptedCompaction: null } },
};

const AT = new Date(0);
const CALL: ModelCallRow = {
  callNo: 1,
  step: 1,
  model: 'anthropic/m',
  view: null,
  requestSha256: null,
  untilSeq: 1,
  status: 'ok',
  stopReason: 'end_turn',
  responseId: null,
  error: null,
  inputTokens: 10,
  outputTokens: 20,
  cacheReadTokens: 300,
  cacheWriteTokens: 40,
  cacheWrite1hTokens: 0,
  costMicros: 2_000_000,
  priceVersion: null,
  tier: 'standard',
  isEstimated: false,
  isSimulated: false,
  startedAt: AT,
  firstChunkAt: new Date(250),
  endedAt: new Date(1000),
  notes: { requestBytes: 1, responseBytes: 1, firstByteMs: 1, durationMs: 1000 },
};

function measureWorker() {
  const meters = measureProcess({ roles: ['worker'], host: '127.0.0.1', port: 0 });
  if (meters?.work == null) throw new Error('A worker with a port is not measured.');
  return { meter: meters.work.meter, registry: meters.registry, text: () => meters.registry.metrics() };
}

test('without a port and without an API nothing is measured', () => {
  expect(measureProcess({ roles: ['worker'], host: '127.0.0.1', port: undefined })).toBeNull();
});

test('a model call counts its tokens by kind, its cost and its times, under their own names and those of the conventions', async () => {
  const { meter, text } = measureWorker();
  meter.modelCalled(TURN, CALL);
  meter.modelCalled(TURN, { ...CALL, status: 'failed', error: { code: 'model_network' }, costMicros: null });
  const lines = (await text()).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'holdfast_model_calls_total{model="anthropic/m",tier="standard",status="ok"} 1',
      'holdfast_model_call_failures_total{model="anthropic/m",code="model_network"} 1',
      'holdfast_model_tokens_total{model="anthropic/m",tier="standard",kind="cache_read"} 600',
      'holdfast_model_cost_dollars_total{model="anthropic/m",tier="standard",agent="main"} 2',
      'holdfast_model_call_duration_seconds_sum{model="anthropic/m"} 2',
      'holdfast_model_first_chunk_seconds_sum{model="anthropic/m"} 0.5',
      'gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="anthropic",gen_ai_request_model="m",gen_ai_token_type="input"} 700',
    ]),
  );
});

test('a call in a provider batch has no duration, because it takes hours', async () => {
  const { meter, text } = measureWorker();
  meter.modelCalled(TURN, { ...CALL, tier: 'batch' });
  expect(await text()).not.toContain('holdfast_model_call_duration_seconds_count{');
});

test('the overhead of a turn is its time outside calls and tools, and is unknown when another worker began it', async () => {
  const { meter, text } = measureWorker();
  const end = (attempt: number) => ({
    status: 'completed' as const,
    error: null,
    figures: { attempt, waitedMs: 500, ranMs: 1500 },
  });
  meter.modelCalled(TURN, CALL);
  meter.toolRan(TURN, { name: 'read', status: 'done', durationMs: 400 });
  meter.turnEnded(TURN, end(1));
  meter.turnEnded({ ...TURN }, end(2));
  const lines = (await text()).split('\n');
  expect(lines).toContain('holdfast_turn_overhead_seconds_count 1');
  expect(lines).toContain('holdfast_turn_overhead_seconds_sum 0.1');
  expect(lines).toContain('holdfast_turn_wait_seconds_sum{lane="main",reason="queue"} 1');
});

test('tools, models and codes have 100 labels each, and then `other`', async () => {
  const { meter, text } = measureWorker();
  for (let n = 0; n < 150; n += 1) {
    meter.toolRan(TURN, { name: `tool-${n}`, status: 'done', durationMs: 1 });
    meter.modelCalled(TURN, { ...CALL, model: `anthropic/m-${n}`, error: { code: `code-${n}` } });
  }
  const seen = await text();
  const valuesOf = (label: string) => new Set(seen.match(new RegExp(`(?<=[{,])${label}="[^"]*"`, 'g'))).size;
  expect([valuesOf('tool'), valuesOf('model'), valuesOf('gen_ai_request_model')]).toEqual([101, 101, 101]);
  expect(seen).toContain('holdfast_tool_calls_total{tool="other",status="done"} 50\n');
  // Their durations are histograms, of which each has many series.
  expect(valuesOf('gen_ai_tool_name')).toBe(17);
});

test('after 10,000 turns of as many sessions with 500 tools, a process with every role has at most 2,000 series', async () => {
  const meters = measureProcess({ roles: ['api', 'worker', 'scheduler'], host: '', port: undefined });
  if (meters?.work == null) throw new Error('A process with the api role is not measured.');
  const api = createMetrics(meters.registry, NOW, ADDED);
  const { meter } = meters.work;
  const kinds = ['message', 'cron', 'heartbeat', 'announce', 'followup', 'batch'] as const;
  for (let n = 0; n < 10_000; n += 1) {
    const turn: MeteredTurn = { ...TURN, kind: kinds[n % 6]!, session: { lane: LANES[n % LANES.length]! } };
    meter.modelCalled(turn, { ...CALL, model: `anthropic/m-${n % 3}` });
    meter.toolRan(turn, { name: `tool-${n % 500}`, status: n % 7 === 0 ? 'failed' : 'done', durationMs: n });
    const hasFailed = n % 50 === 0;
    meter.turnEnded(turn, {
      status: hasFailed ? 'failed' : 'completed',
      error: hasFailed ? { code: `code_${n % 8}`, message: '' } : null,
      figures: { attempt: 1, waitedMs: n, ranMs: n },
    });
  }
  for (const { method, path } of ROUTES.slice(0, 20))
    api.observeRequest({ method, route: path, status: 200, durationMs: 1 });
  const series = (await meters.registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(series.length).toBeGreaterThan(1_000);
  expect(series.length).toBeLessThanOrEqual(2_000);
});

test('every metric has a unit, a help text and a name by the rules of Prometheus', async () => {
  const { registry, ...meters } = measureProcess({ roles: ['api', 'worker', 'scheduler'], host: '', port: undefined })!;
  createMetrics(registry, NOW, ADDED);
  const enders: (() => Promise<unknown>)[] = [];
  await meters.start(FACTS, enders);
  onTestFinished(() => Promise.all(enders.map((end) => end())).then(() => undefined));
  for (const { name, help, type } of registry.getMetricsAsArray()) {
    expect(name).toMatch(/^(?:holdfast|gen_ai|process|nodejs)_[a-z0-9_]+$/);
    expect(help.length, name).toBeGreaterThan(5);
    expect(name.endsWith('_total'), name).toBe(`${type}` === 'counter');
    expect(name).not.toMatch(/_(?:count|sum|bucket)$/);
  }
});

test('the server of a process without an API answers two paths, and only GET', async () => {
  const { registry } = measureWorker();
  const server = await startMetricsServer(registry, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  const ask = async (path: string, method = 'GET') => (await fetch(new URL(path, server.url), { method })).status;
  expect([await ask('/metrics?x=1'), await ask('/healthz'), await ask('/'), await ask('/metrics', 'POST')]).toEqual([
    200, 200, 404, 405,
  ]);
});

test('a process names its version and serves its metrics where it listens', async () => {
  const meters = measureProcess({ roles: ['scheduler'], host: '127.0.0.1', port: 0 });
  const enders: (() => Promise<unknown>)[] = [];
  const server = await meters?.start(FACTS, enders);
  const text = await (await fetch(server?.url ?? '')).text();
  expect(text).toContain('holdfast_build_info{version="1.2.3"} 1\n');
  expect(text).toContain('process_cpu_seconds_total');
  expect(text).not.toMatch(/^# TYPE \w+_total gauge$/m);
  for (const end of enders.toReversed()) await end();
});
