// The metrics of waits for models.
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createRateMetrics } from '../../workers/process-metrics.ts';

test('a blocked model counts down to 0, and waits are measured by model', async () => {
  let nowMs = 0;
  const registry = new Registry();
  const metrics = createRateMetrics(registry, { now: () => new Date(0), monotonicMs: () => nowMs });
  metrics.blocked({ model: 'anthropic/a', leftMs: 5000 });
  metrics.waited({ model: 'anthropic/a', waitedMs: 2000 });
  nowMs = 2000;
  expect(await registry.metrics()).toContain('holdfast_model_blocked_seconds{model="anthropic/a"} 3');
  nowMs = 9000;
  const text = await registry.metrics();
  expect(text).toContain('holdfast_model_blocked_seconds{model="anthropic/a"} 0');
  expect(text).toContain('holdfast_rate_wait_seconds_sum{model="anthropic/a"} 2');
});

test('models beyond the first hundred share the label `other`', async () => {
  const registry = new Registry();
  const metrics = createRateMetrics(registry, { now: () => new Date(0), monotonicMs: () => 0 });
  for (let model = 1; model <= 150; model += 1) metrics.waited({ model: `anthropic/m${model}`, waitedMs: 1 });
  const text = await registry.metrics();
  expect(text).toContain('holdfast_rate_wait_seconds_count{model="other"} 50');
  expect(text.match(/holdfast_rate_wait_seconds_count/g)).toHaveLength(101);
});
