// What a lane does when it has more work than slots, on any backend: long jobs beside short ones, a
// backlog, a drain with jobs that wait.
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Ring } from '../../../jobs/index.ts';
import { createLogger } from '../../../src/logger.ts';
import { createPublish, createWake } from '../../../src/kernel/queue/rings.ts';
import { openStillWaiting } from '../../../workers/create-reconciler.ts';
import { Reconciler } from '../../../workers/reconciler.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { isLongForm } from '../../servers/test-form.ts';
import { createStoreRig } from '../../store/store-rig.ts';
import { gate, newSession, openQueueRig, pending, ring, Seen } from './queue-rig.ts';
import { queueServers, type QueueServer } from './queue-server.ts';

describe.each(queueServers())('the queue in $name', ({ start }) => {
  let server: QueueServer;
  shareAmongTests(async (onEnd) => {
    const started = await start();
    server = started;
    onEnd(() => started.stop());
  });
  beforeEach(async () => {
    await openQueueRig(server);
    await server.wipe();
  });

  test.each([2, 16])(
    'a job that does not end keeps none of 15 others waiting in a lane with %i slots',
    async (slots) => {
      const { doorbell, startWorker } = await openQueueRig(server);
      const { opened, open } = gate();
      const [long, short] = [ring(), Array.from({ length: 15 }, () => ring())];
      const seen = new Seen();
      const worker = await startWorker({
        concurrency: slots,
        async process({ sessionId }) {
          if (sessionId === long.sessionId) await opened;
          seen.add(sessionId);
        },
      });
      // They arrive together, and the long one is the first.
      await doorbell.ring([long, ...short]);
      await seen.count(short.length);
      expect(seen.sessions.toSorted()).toEqual(short.map(({ sessionId }) => sessionId).toSorted());
      await expect.poll(() => worker.active()).toBe(1);
      open();
      await seen.count(1 + short.length);
    },
  );

  // Goal: a lane that is full for long does not fill the queue. Method: its jobs are held, and
  // rounds of the reconciler follow each other until each session was looked at twice. The held
  // jobs do not claim their sessions, so even their rings seem to be lost.
  test('a backlog makes at most one additional job per session while the lane is full, and none is lost (G22)', async () => {
    const count = isLongForm() ? 10_000 : 300;
    const store = await createStoreRig();
    onTestFinished(() => store.drop());
    const databaseUrl = store.url;
    const rig = await openQueueRig(server.redisUrl === undefined ? { databaseUrl } : { ...server, databaseUrl });
    const { opened, open } = gate();
    const seen = new Seen();
    await rig.startWorker({
      concurrency: 4,
      async process({ sessionId }) {
        await opened;
        seen.add(sessionId);
      },
    });
    const rung = new Map<string, number>();
    const doorbell = {
      ...rig.doorbell,
      async ring(rings: readonly Ring[]) {
        for (const { sessionId } of rings) rung.set(sessionId, (rung.get(sessionId) ?? 0) + 1);
        await rig.doorbell.ring(rings);
      },
    };
    const publish = createPublish({ wake: createWake(), doorbell });
    const accept = async (): Promise<string> => {
      const sessionId = await store.session();
      publish(await store.accept(store.input(sessionId)));
      return sessionId;
    };
    const sessions: string[] = [];
    while (sessions.length < count) sessions.push(...(await Promise.all(Array.from({ length: 100 }, accept))));
    await expect.poll(() => pending(rig)).toBe(count);
    let looks = 0;
    const stillWaiting = openStillWaiting(rig.backend, { leaseMs: 500 });
    const reconciler = new Reconciler({
      config: store.config,
      database: store.database,
      effects: store.effects,
      publish,
      logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
      due: [],
      reconcileMs: 20,
      stillWaiting(stale) {
        looks += stale.length;
        return stillWaiting(stale);
      },
      pingQueue: () => rig.backend.ping(),
      onQueueFault: () => undefined,
      lanes: null,
    });
    onTestFinished(() => reconciler.stop());
    reconciler.start();
    await expect.poll(() => looks).toBeGreaterThanOrEqual(2 * count);
    await reconciler.stop();
    expect(Math.max(...rung.values())).toBeLessThanOrEqual(2);
    expect(await pending(rig)).toBeLessThanOrEqual(2 * count);
    open();
    await expect.poll(() => pending(rig), { timeout: 300_000 }).toBe(0);
    expect(new Set(seen.sessions)).toEqual(new Set(sessions));
  });

  test('a drain gives back the jobs that wait for a slot, and another process runs each of them once (G26)', async () => {
    const { doorbell, startWorker } = await openQueueRig(server);
    const { opened, open } = gate();
    const [begun, ended] = [new Seen(), new Seen()];
    const worker = await startWorker({
      concurrency: 3,
      async process({ sessionId }) {
        begun.add(sessionId);
        await opened;
        ended.add(sessionId);
      },
    });
    // One slot has no job, so a job is fetched that finds no slot.
    const checked = newSession();
    expect(worker.tryRun({ kind: 'inbound', sessionId: checked })).toBe(true);
    const rings = Array.from({ length: 10 }, () => ring());
    await doorbell.ring(rings);
    await expect.poll(async () => (await doorbell.depth()).main.waiting).toBe(7);
    await begun.count(3);
    const drained = worker.drain(600_000);
    open();
    expect(await drained).toEqual({ stillActive: 0 });
    expect(begun.sessions).toHaveLength(3);
    const successor = new Seen();
    const { startWorker: startOther } = await openQueueRig(server);
    await startOther({ concurrency: 3, process: async ({ sessionId }) => successor.add(sessionId) });
    await successor.count(8);
    const all = [checked, ...rings.map(({ sessionId }) => sessionId)];
    expect([...ended.sessions, ...successor.sessions].toSorted()).toEqual(all.toSorted());
  });
});
