// Goal: four workers share one rate limit: the provider refuses almost nothing, and what it allows is used. Method: a provider that enforces a
// bucket, over HTTP, and sessions that always have something to ask. The long form measures for half a minute.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { isLongForm } from '../servers/test-form.ts';
import { startLimitedProvider, type LimitedRequest } from './limited-provider.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const WORKERS = 4;
const SESSIONS_EACH = 16;
const PER_MINUTE = 600;
const RETRY_AFTER_MS = isLongForm() ? 5_000 : 2_000;
/** When all workers know of a block: after 300 ms, and the time that a busy machine may take. */
const KNOWN_AFTER_MS = 1_000;
const [SETTLE_MS, MEASURED_MS] = [10_000, 20_000];
const SETTINGS = { models: { limits: [{ model: 'anthropic/*', requestsPerMinute: PER_MINUTE }] } };

type Worker = ReturnType<TurnRig['worker']>;

/** A session that always has something to ask. */
async function converse(
  rig: TurnRig,
  worker: Worker,
  { name, isOver }: { name: string; isOver: () => boolean },
): Promise<void> {
  while (!isOver()) {
    await rig.send(name, '[[reply: ok]]');
    while (!isOver() && (await worker.run(name)).kind !== 'ended') await delay(20);
  }
}

test(
  'four workers share one limit: together they make no more calls than it refills',
  { timeout: 60_000 },
  async () => {
    const database = await withTestDatabase();
    const rig = await createTurnRig(database.url, { settings: SETTINGS });
    // Room for the calls of some seconds, should the machine stop for so long.
    const provider = await startLimitedProvider(rig.scripted.url, { perMinute: PER_MINUTE, capacity: 60 });
    const workers = Array.from({ length: WORKERS }, () => rig.worker({ modelUrl: provider.url }));
    const account = workers[0]?.context.model.accountOf({});
    // The limit begins empty.
    await rig.rows('insert into holdfast.rate_windows (limit_id, unit, amount) values ($1, $2, 0)', [
      `${account} anthropic/*`,
      'requests',
    ]);
    const beganAtMs = performance.now();
    let isOver = false;
    const sessions = workers.flatMap((worker, no) =>
      Array.from({ length: 4 }, (_, index) =>
        converse(rig, worker, { name: `shared-${no}-${index}`, isOver: () => isOver }),
      ),
    );
    await expect.poll(() => provider.requests.length, { timeout: 50_000 }).toBeGreaterThanOrEqual(20);
    isOver = true;
    await Promise.all(sessions);
    const { requests } = provider;
    expect(requests.filter(({ isRefused }) => isRefused)).toEqual([]);
    const elapsedMs = (requests.at(-1)?.atMs ?? 0) - beganAtMs;
    expect(requests.length).toBeLessThanOrEqual((elapsedMs * PER_MINUTE) / 60_000 + 2);
    workers.forEach((worker) => worker.stop());
    await provider.close();
    await rig.close();
    await database.drop();
  },
);

test.runIf(isLongForm())(
  'a limit that is scarce is used, and the provider refuses almost nothing',
  { timeout: 90_000 },
  async () => {
    const database = await withTestDatabase();
    const rig = await createTurnRig(database.url, { settings: SETTINGS });
    // The bucket of the provider holds a second; that of the limit, which begins full, is too large at first.
    const provider = await startLimitedProvider(rig.scripted.url, { perMinute: PER_MINUTE, capacity: PER_MINUTE / 60 });
    const beganAtMs = performance.now();
    const endsAtMs = beganAtMs + SETTLE_MS + MEASURED_MS;
    const workers = Array.from({ length: WORKERS }, () => rig.worker({ modelUrl: provider.url }));
    await Promise.all(
      workers.flatMap((worker, no) =>
        Array.from({ length: SESSIONS_EACH }, (_, index) =>
          converse(rig, worker, { name: `limited-${no}-${index}`, isOver: () => performance.now() >= endsAtMs }),
        ),
      ),
    );
    const measured = provider.requests.filter(({ atMs }) => atMs >= beganAtMs + SETTLE_MS && atMs < endsAtMs);
    const refused = measured.filter(({ isRefused }) => isRefused).length;
    const allowed = (PER_MINUTE * MEASURED_MS) / 60_000;
    expect(refused).toBeLessThanOrEqual(measured.length / 100);
    expect(measured.length).toBeGreaterThanOrEqual(allowed * 0.9);
    workers.forEach((worker) => worker.stop());
    await provider.close();
    await rig.close();
    await database.drop();
  },
);

test(
  'after a 429 with Retry-After no worker calls the model until then; then the calls resume',
  { timeout: 60_000 },
  async () => {
    const database = await withTestDatabase();
    const rig = await createTurnRig(database.url);
    const provider = await startLimitedProvider(rig.scripted.url, { perMinute: 1e9, capacity: 1e9 });
    const workers = Array.from({ length: WORKERS }, () => rig.worker({ modelUrl: provider.url }));
    const after = (refusal: LimitedRequest, ms: number) =>
      provider.requests.filter(({ atMs }) => atMs >= refusal.atMs + ms);
    const refusalOf = () => provider.requests.find(({ isRefused }) => isRefused);
    let isOver = false;
    const sessions = workers.flatMap((worker, no) =>
      Array.from({ length: 4 }, (_, index) =>
        converse(rig, worker, { name: `held-${no}-${index}`, isOver: () => isOver }),
      ),
    );
    await expect.poll(() => provider.requests.length, { timeout: 20_000 }).toBeGreaterThan(40);
    provider.refuseNext(RETRY_AFTER_MS / 1000);
    const resumed = () => {
      const refusal = refusalOf();
      return refusal === undefined ? 0 : after(refusal, RETRY_AFTER_MS).length;
    };
    await expect.poll(resumed, { timeout: 20_000 }).toBeGreaterThan(20);
    isOver = true;
    await Promise.all(sessions);
    const refusal = refusalOf();
    if (refusal === undefined) throw new Error('No request was refused.');
    const held = after(refusal, KNOWN_AFTER_MS).filter(({ atMs }) => atMs < refusal.atMs + RETRY_AFTER_MS - 10);
    expect(held).toEqual([]);
    workers.forEach((worker) => worker.stop());
    await provider.close();
    await rig.close();
    await database.drop();
  },
);
