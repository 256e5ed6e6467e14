// Goal: four workers share one rate limit: the provider refuses almost nothing, and what it allows is used. Method: a provider that enforces a
// bucket, over HTTP, and sessions that always have something to ask. The short form runs for a few seconds.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { isLongForm } from '../servers/test-form.ts';
import { startLimitedProvider } from './limited-provider.ts';
import { createTurnRig } from './turn-rig.ts';

const WORKERS = 4;
const SESSIONS_EACH = 16;
const PER_MINUTE = 600;
const [SETTLE_MS, MEASURED_MS] = isLongForm() ? [10_000, 20_000] : [2_000, 3_000];

test('four workers with sixteen sessions each stay below one limit and use it', { timeout: 90_000 }, async () => {
  const database = await withTestDatabase();
  const settings = { models: { limits: [{ model: 'anthropic/*', requestsPerMinute: PER_MINUTE }] } };
  const rig = await createTurnRig(database.url, { settings });
  // The bucket of the provider holds a second; that of the limit, which begins full, is too large at first.
  const provider = await startLimitedProvider(rig.scripted.url, { perMinute: PER_MINUTE, capacity: PER_MINUTE / 60 });
  const beganAtMs = performance.now();
  const endsAtMs = beganAtMs + SETTLE_MS + MEASURED_MS;
  const workers = Array.from({ length: WORKERS }, () => rig.worker({ modelUrl: provider.url }));
  const converse = async (worker: (typeof workers)[number], name: string): Promise<void> => {
    while (performance.now() < endsAtMs) {
      await rig.send(name, '[[reply: ok]]');
      while (performance.now() < endsAtMs && (await worker.run(name)).kind !== 'ended') await delay(20);
    }
  };
  await Promise.all(
    workers.flatMap((worker, no) =>
      Array.from({ length: SESSIONS_EACH }, (_, index) => converse(worker, `limited-${no}-${index}`)),
    ),
  );
  const measured = provider.requests.filter(({ atMs }) => atMs >= beganAtMs + SETTLE_MS && atMs < endsAtMs);
  const refused = measured.filter(({ isRefused }) => isRefused).length;
  const allowed = (PER_MINUTE * MEASURED_MS) / 60_000;
  expect(refused).toBeLessThanOrEqual(measured.length / 100);
  // The short form ends while the first refusals have an effect.
  expect(measured.length).toBeGreaterThanOrEqual(allowed * (isLongForm() ? 0.9 : 0.3));
  workers.forEach((worker) => worker.stop());
  await provider.close();
  await rig.close();
  await database.drop();
});
