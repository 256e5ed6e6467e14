// How the doorbell shares commands and survives a queue that fails, hangs or comes back. The queue
// here is a stand-in whose answers the test gives; `test/workers/queue/conformance.test.ts` holds
// the same promises against real servers.
import { expect, test } from 'vitest';
import { createDoorbell, type Doorbell, type QueueName, type Ring, type RingQueue } from '../../jobs/index.ts';
import type { SessionId } from '../../src/core/ids.ts';

interface Command {
  queue: QueueName;
  how: 'one by one' | 'in bulk';
  jobIds: string[];
  answer: PromiseWithResolvers<void>;
}

/** A doorbell on queues that answer when the test says so. */
function rig(ringTimeoutMs = 60_000): { doorbell: Doorbell; commands: Command[]; lines: string[] } {
  const commands: Command[] = [];
  const lines: string[] = [];
  function send(queue: QueueName, how: Command['how'], jobIds: string[]): Command {
    const command = { queue, how, jobIds, answer: Promise.withResolvers<void>() };
    commands.push(command);
    return command;
  }
  // Jobs that are added one by one in one go are one command here, with one answer.
  const queue = (name: QueueName): RingQueue => {
    let open: Command | null = null;
    return {
      add(_kind, _data, { jobId }) {
        if (open === null) queueMicrotask(() => (open = null));
        open ??= send(name, 'one by one', []);
        open.jobIds.push(jobId);
        return open.answer.promise;
      },
      addBulk(jobs) {
        return send(
          name,
          'in bulk',
          jobs.map(({ opts }) => opts.jobId),
        ).answer.promise;
      },
      getJobCounts: async () => ({ waiting: 3, active: 2, delayed: 1 }),
    };
  };
  const outages = {
    failed: (error: unknown) => void lines.push(`failed: ${(error as Error).message}`),
    answered: () => void lines.push('answered'),
  };
  return { doorbell: createDoorbell({ queue, outages, ringTimeoutMs }), commands, lines };
}

function ringOf(session: number, lane: 'main' | 'batch' = 'main'): Ring {
  return { kind: 'inbound', lane, sessionId: `s${session}` as SessionId, ringNo: 1 };
}

/** Lets everything that is due happen. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('simultaneous rings are one command for each queue', async () => {
  const { doorbell, commands } = rig();
  const rung = [
    doorbell.ring([ringOf(1)]),
    doorbell.ring([ringOf(2), ringOf(3, 'batch')]),
    doorbell.ring([ringOf(4, 'batch')]),
  ];
  await settled();
  expect(commands.map(({ queue, jobIds }) => [queue, jobIds])).toEqual([
    ['main', ['s1.1', 's2.1']],
    ['batch', ['s3.1', 's4.1']],
  ]);
  for (const { answer } of commands) answer.resolve();
  await Promise.all(rung);
});

test('rings that arrive while a command is in flight are sent together in the next, once each', async () => {
  const { doorbell, commands } = rig();
  const first = doorbell.ring([ringOf(1)]);
  await settled();
  const others = [2, 3, 2, 3].map((session) => doorbell.ring([ringOf(session)]));
  await settled();
  expect(commands).toHaveLength(1);
  commands[0]?.answer.resolve();
  await first;
  await settled();
  expect(commands.map(({ jobIds }) => jobIds)).toEqual([['s1.1'], ['s2.1', 's3.1']]);
  commands[1]?.answer.resolve();
  await Promise.all(others);
});

test('a few jobs are added one by one, and many in bulk', async () => {
  const { doorbell, commands } = rig();
  for (const count of [1, 9, 10]) {
    const rung = doorbell.ring(Array.from({ length: count }, (_, session) => ringOf(session)));
    await settled();
    commands.at(-1)?.answer.resolve();
    await rung;
  }
  expect(commands.map(({ how, jobIds }) => [how, jobIds.length])).toEqual([
    ['one by one', 1],
    ['one by one', 9],
    ['in bulk', 10],
  ]);
});

test('a command that fails is reported, and the ring resolves', async () => {
  const { doorbell, commands, lines } = rig();
  for (let session = 1; session <= 3; session += 1) {
    const rung = doorbell.ring([ringOf(session)]);
    await settled();
    commands.at(-1)?.answer.reject(new Error('the queue is away'));
    await rung;
  }
  expect(lines).toEqual(Array.from({ length: 3 }, () => 'failed: the queue is away'));
  const rung = doorbell.ring([ringOf(4)]);
  await settled();
  commands.at(-1)?.answer.resolve();
  await rung;
  expect(lines.at(-1)).toBe('answered');
});

test('a command without an answer fails, and a queue that answers nothing is not called without end', async () => {
  const { doorbell, commands } = rig(5);
  for (let session = 1; session <= 10; session += 1) await doorbell.ring([ringOf(session)]);
  expect(commands).toHaveLength(4);
  commands[0]?.answer.resolve();
  await settled();
  await doorbell.ring([ringOf(11)]);
  expect(commands).toHaveLength(5);
});

test('the number of waiting rings is bounded', async () => {
  const { doorbell, commands, lines } = rig();
  const first = doorbell.ring([ringOf(0)]);
  await settled();
  const many = Array.from({ length: 20_000 }, (_, index) => ringOf(index + 1));
  const waiting = doorbell.ring(many);
  await doorbell.ring([ringOf(20_001)]);
  expect(lines).toEqual(['failed: 20000 jobs for the queue main wait already, and no more may wait. Try again later.']);
  commands[0]?.answer.resolve();
  await first;
  for (let made = 1; made <= 40; made += 1) {
    await settled();
    expect(commands[made]?.jobIds).toHaveLength(500);
    commands[made]?.answer.resolve();
  }
  await waiting;
});

test('closing sends the waiting rings, and drops later ones', async () => {
  const { doorbell, commands } = rig();
  const rung = doorbell.ring([ringOf(1)]);
  let isClosed = false;
  const closing = doorbell.close().then(() => (isClosed = true));
  await settled();
  expect(isClosed).toBe(false);
  commands[0]?.answer.resolve();
  await Promise.all([rung, closing]);
  await doorbell.ring([ringOf(2)]);
  expect(commands).toHaveLength(1);
});

test('the depth has an entry for every queue', async () => {
  const { doorbell } = rig();
  const depth = { waiting: 3, active: 2, delayed: 1 };
  expect(await doorbell.depth()).toEqual({ main: depth, subagent: depth, cron: depth, batch: depth, deliver: depth });
});
