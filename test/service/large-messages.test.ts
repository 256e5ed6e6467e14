// Goal: megabytes of waiting text neither stop a process nor delay other sessions (G27). Method:
// send 20 messages of 0.9 MB to two sessions of one process that serves the API and runs the turns,
// and ask it for `/healthz` again and again until all of them are settled. The processor time of
// the process is compared, not the time that passes: other programs make each answer late, and
// change nothing about what it waits for.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { countInputs, readInputs } from '../rows/inputs.ts';
import { grouped, not } from '../rows/table.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { openServiceRig, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';

const messages = 20;
const messageBytes = 900_000;
const healthMsMax = 1_000;
const settledWithinMs = 600_000;
/** What Linux counts processor time in. */
const tickMs = 10;
const words = 'wörd '.repeat(messageBytes / Buffer.byteLength('wörd '));

let rig: ServiceRig;
let service: RunningProcess;
let api: ServiceApi;

shareAmongTests(async (onEnd) => {
  rig = await openServiceRig({ queue: 'postgres' });
  onEnd(() => rig.close());
  service = await rig.start('api,worker,scheduler');
  api = rig.apiOf(service);
});

/** The processor time that the thread has used which answers requests, in milliseconds. */
async function processorMs(): Promise<number> {
  const { pid } = service.child;
  const stat = await readFile(`/proc/${pid}/task/${pid}/stat`, 'utf8');
  // Those of `utime` and `stime`, from the state on: the name before it may contain anything.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(user) + Number(system)) * tickMs;
}

/**
 * Asks for `/healthz` until the work is done, one request at a time, and returns the most processor
 * time that one of them waited for.
 */
async function slowestHealth(work: Promise<unknown>): Promise<number> {
  let slowestMs = 0;
  let isDone = false;
  void work.finally(() => (isDone = true)).catch(() => undefined);
  while (!isDone) {
    const before = await processorMs();
    expect((await api.ask('GET', '/healthz')).status).toBe(200);
    slowestMs = Math.max(slowestMs, (await processorMs()) - before);
  }
  return slowestMs;
}

async function answerAll(): Promise<void> {
  await Promise.all(
    Array.from({ length: messages }, (_, n) =>
      api.send(`large-${n % 2}`, { text: `[[reply: Read message ${n}.]] ${words}` }),
    ),
  );
  await waitUntil('all messages are settled', settledWithinMs, async () => {
    return (await countInputs(rig, { settledAt: not(null) })) === messages;
  });
}

test(
  '20 messages of 0.9 MB in two sessions are answered, and /healthz waits for at most a second of that work (G27)',
  { timeout: 2 * settledWithinMs },
  async () => {
    const work = answerAll();
    const slowestMs = await slowestHealth(work);
    await work;
    expect(grouped(await readInputs(rig, {}, 'status'), 'status')).toEqual([{ status: 'answered', n: messages }]);
    expect(slowestMs).toBeLessThan(healthMsMax);
  },
);
