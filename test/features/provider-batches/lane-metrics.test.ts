// The metrics of requests in provider batches: each result is counted once, also when reading them
// is interrupted.
import { Registry } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { NO_FAULTS } from '../../../scripted-model/batches/batch-faults.ts';
import { createProviderLaneMetrics } from '../../../src/features/provider-batches/lane-parts.ts';
import { laneRounds } from '../../../src/features/provider-batches/provider-lane.ts';
import { startRounds } from '../../../src/kernel/queue/start-rounds.ts';
import { changeProviderRequests, readProviderBatches } from '../../rows/provider-batches.ts';
import { now, sumOf } from '../../rows/table.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { createLaneRig, type LaneRig } from './lane-rig.ts';

let rig: LaneRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createLaneRig(database.url, { batchDelayMs: 5 });
  onEnd(() => rig.close());
});
afterEach(() => {
  rig.scripted.batches.faults = { ...NO_FAULTS };
});

function laneWithMetrics() {
  const registry = new Registry();
  const parts = rig.lane({ metrics: createProviderLaneMetrics(registry) });
  const requests = (result: string): string => `holdfast_provider_requests_total{result="${result}"}`;
  return { parts, requests, text: () => registry.metrics() };
}

test('each result is counted once, also when a reading is interrupted and repeated', async () => {
  const { parts, requests, text } = laneWithMetrics();
  for (let n = 0; n < 3; n += 1) await rig.send(`counted-${n}`, '[[reply: yes]]', { via: 'provider-batch' });
  rig.scripted.batches.faults = { ...NO_FAULTS, brokenResults: 2 };
  await rig.untilSettled(parts);
  await rig.untilRead(parts);
  expect(await text()).toContain(`${requests('answered')} 3\n`);
  expect(await text()).toContain('holdfast_provider_cost_wasted_dollars_total 0\n');
});

test('a request that left and its late answer are counted, with the cost of the answer', async () => {
  const { parts, requests, text } = laneWithMetrics();
  await rig.send('late', '[[reply: live]]', { via: 'provider-batch' });
  await rig.runDue();
  await rig.round(parts);
  await changeProviderRequests(rig, {}, { leaveAt: now });
  const stop = startRounds({ ...laneRounds(parts), database: parts.database });
  await expect.poll(text).toContain(`${requests('left')} 1\n`);
  await stop();
  await rig.untilSettled(parts);
  await rig.untilRead(parts);
  const wastedUsd = sumOf(await readProviderBatches(rig), 'wastedMicros') / 1_000_000;
  expect(wastedUsd).toBeGreaterThan(0);
  const wasted = /^holdfast_provider_cost_wasted_dollars_total (\S+)$/m.exec(await text())?.[1];
  expect(Number(wasted)).toBeCloseTo(wastedUsd, 9);
  expect(await text()).not.toContain(requests('answered'));
});
