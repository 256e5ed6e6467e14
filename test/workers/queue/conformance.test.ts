// The guarantees of the doorbell on any backend: the same suite against real servers of both.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { TurnRing } from '../../../jobs/index.ts';
import { openStillWaiting } from '../../../workers/create-reconciler.ts';
import type { ShutdownReason } from '../../../workers/queue/start-lane-worker.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { asleep, gate, newSession, openQueueRig, pending, ring, Seen } from './queue-rig.ts';
import { queueServers, type QueueServer } from './queue-server.ts';
import { SLOWNESS_MAX } from '../../servers/busy-machine.ts';
import { endListeners } from '../../servers/end-listeners.ts';

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

  test('a ring wakes an idle worker', async () => {
    const rig = await openQueueRig(server);
    const seen = new Seen();
    await rig.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
    await asleep(rig, seen);
    const next = ring();
    await rig.doorbell.ring([next]);
    await seen.count(2);
    expect(seen.sessions.at(-1)).toBe(next.sessionId);
  });

  test('a ring wakes a worker of another process', async () => {
    const here = await openQueueRig(server);
    const there = await openQueueRig(server);
    const seen = new Seen();
    await there.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
    await asleep(here, seen);
    for (let count = 2; count <= 20; count += 1) {
      await here.doorbell.ring([ring()]);
      await seen.count(count);
    }
  });

  // Goal: a worker that has lost the connection on which it waits for jobs does not wait for its
  // next poll. Method: that poll is an hour away.
  test('a ring is heard within 500 ms after the listening connection was ended', async () => {
    const there = await openQueueRig({ ...server, sleepMs: 3_600_000 });
    const here = await openQueueRig(server);
    const seen = new Seen();
    const worker = await there.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
    for (let round = 1; round <= 3; round += 1) {
      await asleep(here, seen);
      await expect.poll(() => endListeners(server)).toBeGreaterThan(0);
      const startedAtMs = performance.now();
      await here.doorbell.ring([ring()]);
      await seen.count(2 * round);
      expect(performance.now() - startedAtMs).toBeLessThan(500 * SLOWNESS_MAX);
    }
    expect(worker.errors).toEqual([]);
  });

  test('a session that is run without the queue shares the slots of the lane with its jobs, and a drain waits for it', async () => {
    const { doorbell, startWorker } = await openQueueRig(server);
    const seen = new Seen();
    const { opened, open } = gate();
    const [checked, rung] = [newSession(), ring()];
    const worker = await startWorker({
      async process({ sessionId }) {
        seen.add(`begun ${sessionId}`);
        await opened;
        seen.add(`done ${sessionId}`);
      },
    });
    expect(worker.tryRun({ kind: 'inbound', sessionId: checked })).toBe(true);
    await seen.count(1);
    expect([worker.active(), worker.free(), worker.tryRun({ kind: 'inbound', sessionId: newSession() })]).toEqual([
      1,
      0,
      false,
    ]);
    await doorbell.ring([rung]);
    // The job runs after the session, or returns to the queue, because the drain begins meanwhile.
    const drained = worker.drain(5_000);
    open();
    expect(await drained).toEqual({ stillActive: 0 });
    expect(seen.sessions).toEqual([`begun ${checked}`, `done ${checked}`]);
    expect(worker.tryRun({ kind: 'inbound', sessionId: newSession() })).toBe(false);
    const { startWorker: startOther } = await openQueueRig(server);
    await startOther({ process: async ({ sessionId }) => seen.add(`job ${sessionId}`) });
    await seen.count(3);
    expect(seen.sessions.at(-1)).toBe(`job ${rung.sessionId}`);
  });

  test('a session with a priority over 0 goes before those that wait, and one under 0 after them', async () => {
    const { doorbell, startWorker } = await openQueueRig(server);
    const seen = new Seen();
    const { opened, open } = gate();
    const [first, low, lower, normal, high] = [ring(), ring(), ring(), ring(), ring()];
    await startWorker({
      async process({ sessionId }) {
        seen.add(sessionId);
        if (sessionId === first.sessionId) await opened;
      },
    });
    await doorbell.ring([first]);
    await seen.count(1);
    for (const next of [{ ...lower, priority: -9 }, { ...low, priority: -1 }, normal, { ...high, priority: 5 }])
      await doorbell.ring([next]);
    expect((await doorbell.depth()).main).toMatchObject({ waiting: 4, active: 1 });
    open();
    await seen.count(5);
    expect(seen.sessions).toEqual([first, high, normal, low, lower].map(({ sessionId }) => sessionId));
  });

  // Goal: neither a long queue nor a worker with many jobs to claim is rung for twice, and a worker
  // that has crashed before it claimed is. Method: a job is held, which a crashed worker has
  // fetched as far as the queue knows; a third of the lease is over immediately, or after an hour.
  test('a job that waits, or was fetched less than a third of a lease ago, needs no other (G10)', async () => {
    const { doorbell, startWorker, backend } = await openQueueRig(server);
    const seen = new Seen();
    const { opened, open } = gate();
    const [fetched, waiting, low] = [ring(), ring(), { ...ring(), priority: -1 }];
    await startWorker({
      async process({ sessionId }) {
        seen.add(sessionId);
        await opened;
      },
    });
    await doorbell.ring([fetched]);
    await seen.count(1);
    await doorbell.ring([waiting, low]);
    const needNone = (leaseMs: number) => openStillWaiting(backend, { leaseMs })([fetched]);
    const idsOf = (rings: TurnRing[]) => new Set(rings.map(({ sessionId, ringNo }) => `${sessionId}.${ringNo}`));
    expect(await needNone(10_800_000)).toEqual(idsOf([fetched, waiting, low]));
    expect(await needNone(0)).toEqual(idsOf([waiting, low]));
    open();
    await seen.count(3);
  });

  test('tools of BullMQ see the queues, their jobs and their workers', async () => {
    const rig = await openQueueRig(server);
    const { opened, open } = gate();
    const seen = new Seen();
    await rig.startWorker({
      async process({ sessionId }) {
        seen.add(sessionId);
        await opened;
      },
    });
    const [running, waiting] = [ring(), ring()];
    await rig.doorbell.ring([running]);
    await seen.count(1);
    await rig.doorbell.ring([waiting]);
    const queue = server.openTool('main');
    onTestFinished(() => queue.close());
    const idOf = ({ sessionId }: TurnRing): string => `${sessionId}.1`;
    expect((await queue.getJobs('active')).map(({ id }) => id)).toEqual([idOf(running)]);
    const [job] = await queue.getJobs('waiting');
    expect(job).toMatchObject({ id: idOf(waiting), name: 'inbound', data: { sessionId: waiting.sessionId } });
    expect(await queue.getWorkers()).toHaveLength(1);
    open();
    await seen.count(2);
    await expect
      .poll(() => queue.getJobCounts('completed', 'failed', 'waiting', 'active'))
      .toEqual({ completed: 0, failed: 0, waiting: 0, active: 0 });
  });

  test('each ring of many is one job for one of many workers', async () => {
    const rigs = await Promise.all([openQueueRig(server), openQueueRig(server), openQueueRig(server)]);
    const rings = Array.from({ length: 600 }, () => ring());
    const seen = new Seen();
    for (const rig of rigs)
      await rig.startWorker({ concurrency: 8, process: async ({ sessionId }) => seen.add(sessionId) });
    await Promise.all(rings.map(async (one, index) => rigs[index % 3]?.doorbell.ring([one])));
    await seen.count(rings.length);
    expect(seen.sessions.toSorted()).toEqual(rings.map(({ sessionId }) => sessionId).toSorted());
    await expect.poll(() => pending(rigs[0])).toBe(0);
  });

  test('every kind of ring reaches its queue and keeps its kind', async () => {
    const { doorbell, startWorker } = await openQueueRig(server);
    const seen = new Seen();
    const sessionId = newSession();
    for (const lane of ['main', 'subagent', 'cron', 'batch', 'deliver'] as const) {
      await startWorker({ lane, process: async ({ kind }) => seen.add(`${lane} ${kind}`) });
    }
    await doorbell.ring([
      { kind: 'inbound', lane: 'main', sessionId, ringNo: 1 },
      { kind: 'heartbeat', lane: 'main', sessionId, ringNo: 2 },
      { kind: 'announce', lane: 'subagent', sessionId, ringNo: 3 },
      { kind: 'cron', lane: 'cron', sessionId, ringNo: 4 },
      { kind: 'followup', lane: 'batch', sessionId, ringNo: 5 },
      { kind: 'deliver', sessionId, ringNo: 1 },
    ]);
    await seen.count(6);
    const expected = [
      'main inbound',
      'main heartbeat',
      'subagent announce',
      'cron cron',
      'batch followup',
      'deliver deliver',
    ];
    expect(seen.sessions.toSorted()).toEqual(expected.toSorted());
  });

  test('a ring that is repeated is one job', async () => {
    const rig = await openQueueRig(server);
    const sessionId = newSession();
    await rig.doorbell.ring([ring(sessionId, 1), ring(sessionId, 1)]);
    await rig.doorbell.ring([ring(sessionId, 1)]);
    expect(await pending(rig)).toBe(1);
    const seen = new Seen();
    await rig.startWorker({ process: async (job) => seen.add(job.sessionId) });
    await rig.doorbell.ring([ring(sessionId, 2)]);
    await seen.count(2);
    await expect.poll(() => pending(rig)).toBe(0);
    expect(seen.sessions).toHaveLength(2);
  });

  test('a ring with a new number during a job runs after it', async () => {
    const { doorbell, startWorker } = await openQueueRig(server);
    const sessionId = newSession();
    const started = new Seen();
    const { opened, open } = gate();
    await startWorker({
      async process(job) {
        started.add(job.sessionId);
        await opened;
      },
    });
    await doorbell.ring([ring(sessionId, 1)]);
    await started.count(1);
    await doorbell.ring([ring(sessionId, 2)]);
    open();
    await started.count(2);
  });

  test('jobs are run in the order of their rings', async () => {
    const { doorbell, startWorker } = await openQueueRig(server);
    const rings = Array.from({ length: 40 }, () => ring());
    for (const one of rings) await doorbell.ring([one]);
    const seen = new Seen();
    await startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
    await seen.count(rings.length);
    expect(seen.sessions).toEqual(rings.map(({ sessionId }) => sessionId));
  });

  test('a worker that is killed during a job loses no later ring (G22)', async () => {
    const { doorbell, startWorker } = await openQueueRig(server);
    const args = [
      new URL('lane-worker-process.ts', import.meta.url).pathname,
      server.databaseUrl,
      server.redisUrl ?? '',
    ];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const lines = createInterface({ input: child.stdout });
    const sessionId = newSession();
    await doorbell.ring([ring(sessionId, 1)]);
    expect(await once(lines, 'line')).toEqual([sessionId]);
    child.kill('SIGKILL');
    await exited;
    const seen = new Seen();
    await startWorker({ process: async (job) => seen.add(job.sessionId) });
    await doorbell.ring([ring(sessionId, 2), ring()]);
    await seen.count(2);
    expect(seen.sessions).toContain(sessionId);
  });

  test('a wipe while 200 wait stops no worker (G22)', async () => {
    const { doorbell, startWorker, warnings } = await openQueueRig(server);
    const { opened, open } = gate();
    const seen = new Seen();
    await startWorker({
      concurrency: 4,
      async process({ sessionId }) {
        seen.add(sessionId);
        await opened;
      },
    });
    await doorbell.ring(Array.from({ length: 200 }, () => ring()));
    await seen.count(4);
    await server.wipe();
    open();
    const later = Array.from({ length: 20 }, () => ring());
    await doorbell.ring(later);
    await expect.poll(() => later.every(({ sessionId }) => seen.sessions.includes(sessionId))).toBe(true);
    expect(warnings).toEqual([]);
  });

  test('workers and rings continue after the server was killed and restarted', async () => {
    const { doorbell, startWorker } = await openQueueRig(server);
    const { opened, open } = gate();
    const seen = new Seen();
    const worker = await startWorker({
      concurrency: 2,
      async process({ sessionId }) {
        seen.add(sessionId);
        if (seen.sessions.length === 1) await opened;
      },
    });
    await doorbell.ring([ring()]);
    await seen.count(1);
    await server.kill();
    await server.restart();
    open();
    // A ring can be lost while connections are re-established; the reconciler repeats it.
    let ringNo = 1;
    const sessionId = newSession();
    await expect
      .poll(
        async () => {
          await doorbell.ring([ring(sessionId, ringNo++)]);
          return seen.sessions.includes(sessionId);
        },
        { interval: 100 },
      )
      .toBe(true);
    expect(worker.errors).toEqual([]);
  });

  test('a ring resolves within its bound and is logged when the server is down, and works when it is back', async () => {
    const rig = await openQueueRig(server, 1_000);
    await rig.doorbell.ring([ring()]);
    await server.kill();
    const startedAtMs = performance.now();
    await Promise.all(Array.from({ length: 50 }, () => rig.doorbell.ring([ring()])));
    expect(performance.now() - startedAtMs).toBeLessThan(1_000 * SLOWNESS_MAX);
    expect(rig.warnings).toContain('The queue is unavailable; calls to it are retried');
    await expect(rig.doorbell.depth()).rejects.toThrow();
    await server.restart();
    const seen = new Seen();
    await rig.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
    await expect
      .poll(
        async () => {
          await rig.doorbell.ring([ring()]);
          return seen.sessions.length;
        },
        { interval: 100 },
      )
      .toBeGreaterThan(0);
  });

  test('a ring resolves within its bound when the server does not answer', async () => {
    const rig = await openQueueRig(server, 500);
    await rig.doorbell.ring([ring()]);
    const release = await server.hang();
    onTestFinished(release);
    const startedAtMs = performance.now();
    await Promise.all(Array.from({ length: 50 }, () => rig.doorbell.ring([ring()])));
    expect(performance.now() - startedAtMs).toBeLessThan(500 * SLOWNESS_MAX);
    expect(rig.warnings).toContain('The queue is unavailable; calls to it are retried');
    await release();
  });

  test('a drain waits for running jobs and starts no new ones (G26)', async () => {
    const rig = await openQueueRig(server);
    const { opened, open } = gate();
    const seen = new Seen();
    const worker = await rig.startWorker({
      concurrency: 4,
      async process({ sessionId, draining, signal }) {
        seen.add(sessionId);
        await opened;
        expect(draining.reason satisfies ShutdownReason).toEqual({ kind: 'shutdown' });
        expect(signal.aborted).toBe(false);
      },
    });
    await rig.doorbell.ring([ring()]);
    await seen.count(1);
    const drained = worker.drain(15_000);
    const late = Array.from({ length: 10 }, () => ring());
    await rig.doorbell.ring(late);
    open();
    expect(await drained).toEqual({ stillActive: 0 });
    expect(seen.sessions).toHaveLength(1);
    expect(worker.ended).toEqual({ done: 1, failed: 0, orphan: 0 });
    const seenBySuccessor = new Seen();
    await rig.startWorker({ process: async ({ sessionId }) => seenBySuccessor.add(sessionId) });
    await seenBySuccessor.count(late.length);
    expect(seenBySuccessor.sessions.toSorted()).toEqual(late.map(({ sessionId }) => sessionId).toSorted());
  });

  test('a drain requests a stop immediately, forces it shortly before its end, and ends in time (G26)', async () => {
    const { doorbell, startWorker } = await openQueueRig(server);
    const heard: string[] = [];
    const seen = new Seen();
    const worker = await startWorker({
      process({ sessionId, draining, signal }) {
        draining.addEventListener('abort', () => heard.push('draining'));
        signal.addEventListener('abort', () => heard.push('signal'));
        seen.add(sessionId);
        return new Promise(() => undefined);
      },
    });
    await doorbell.ring([ring()]);
    await seen.count(1);
    const startedAtMs = performance.now();
    const drained = worker.drain(400);
    expect(heard).toEqual(['draining']);
    expect(await drained).toEqual({ stillActive: 1 });
    expect(heard).toEqual(['draining', 'signal']);
    expect(performance.now() - startedAtMs).toBeLessThan(400 * SLOWNESS_MAX);
  });

  test('a drain while the server is down ends soon after the last turn, and not at the end of its grace period (G26)', async () => {
    const rig = await openQueueRig(server);
    const seen = new Seen();
    const process = async ({ sessionId }: { sessionId: string }): Promise<void> => seen.add(sessionId);
    const workers = await Promise.all([rig.startWorker({ process }), rig.startWorker({ process, lane: 'cron' })]);
    await asleep(rig, seen);
    await server.kill();
    onTestFinished(() => server.restart());
    const startedAtMs = performance.now();
    const left = await Promise.all(workers.map((worker) => worker.drain(600_000)));
    expect(left).toEqual(workers.map(() => ({ stillActive: 0 })));
    expect(performance.now() - startedAtMs).toBeLessThan(120_000);
  });

  test('an invalid job is removed from the queue and counted', async () => {
    const rig = await openQueueRig(server);
    const queue = rig.backend.queue('main');
    const payloads = [
      { name: 'inbound', data: {} },
      { name: 'inbound', data: { sessionId: 'x' } },
      { name: 'inbound', data: null },
      { name: 'constructor', data: { sessionId: newSession() } },
    ];
    await queue.addBulk(
      payloads.map(({ name, data }, index) => ({
        name,
        data,
        opts: { jobId: `odd.${index}`, removeOnComplete: true },
      })),
    );
    const gone = newSession();
    const seen = new Seen();
    const worker = await rig.startWorker({
      async process({ sessionId }) {
        seen.add(sessionId);
        return sessionId === gone ? 'orphan' : 'done';
      },
    });
    await rig.doorbell.ring([ring(gone), ring()]);
    await seen.count(2);
    await expect.poll(() => pending(rig)).toBe(0);
    expect(worker.ended).toEqual({ done: 1, failed: 0, orphan: 5 });
  });

  test('a job whose work fails is over, and the next one runs', async () => {
    const rig = await openQueueRig(server);
    const seen = new Seen();
    const worker = await rig.startWorker({
      async process({ sessionId }) {
        seen.add(sessionId);
        if (seen.sessions.length === 1) throw new Error('the work failed');
      },
    });
    await rig.doorbell.ring([ring()]);
    await rig.doorbell.ring([ring()]);
    await seen.count(2);
    await expect.poll(() => pending(rig)).toBe(0);
    expect(worker.errors).toEqual([new Error('the work failed')]);
    expect(worker.ended).toEqual({ done: 1, failed: 1, orphan: 0 });
  });

  test('the depth counts waiting and running jobs', async () => {
    const rig = await openQueueRig(server);
    const { opened, open } = gate();
    const seen = new Seen();
    await rig.startWorker({
      concurrency: 2,
      async process({ sessionId }) {
        seen.add(sessionId);
        await opened;
      },
    });
    await rig.doorbell.ring([
      ...Array.from({ length: 5 }, () => ring()),
      { kind: 'deliver', sessionId: newSession(), ringNo: 1 },
    ]);
    await seen.count(2);
    const depth = await rig.doorbell.depth();
    expect(depth.main).toEqual({ waiting: 3, active: 2, delayed: 0 });
    expect(depth.deliver).toEqual({ waiting: 1, active: 0, delayed: 0 });
    open();
    await seen.count(5);
  });

  test('the queue answers a ping, and says so when it does not', async () => {
    const { backend } = await openQueueRig(server);
    await backend.ping();
    await server.kill();
    await expect(backend.ping()).rejects.toThrow();
    await server.restart();
    await expect
      .poll(() =>
        backend.ping().then(
          () => 'up',
          () => 'down',
        ),
      )
      .toBe('up');
  });

  test('opening a queue whose server is down fails', async () => {
    await expect(
      openQueueRig({
        databaseUrl: 'postgres://postgres@127.0.0.1:1/none',
        ...(server.redisUrl && { redisUrl: 'redis://127.0.0.1:1' }),
      }),
    ).rejects.toThrow();
  });
});
