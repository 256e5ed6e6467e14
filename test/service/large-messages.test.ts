// Goal: megabytes of waiting text neither stop a process nor delay other sessions (G27). Method: send 20 messages of 0.9 MB to two sessions of one
// process that serves the API and runs the turns, and ask it for `/healthz` again and again until all of them are settled.
import { expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { countInputs, readInputs } from '../rows/inputs.ts';
import { grouped, not } from '../rows/table.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { openServiceRig, type ServiceRig } from './rig/service-rig.ts';

const messages = 20;
const messageBytes = 900_000;
const healthMsMax = 1_000;
const settledWithinMs = 280_000;
const words = 'wörd '.repeat(messageBytes / Buffer.byteLength('wörd '));

let rig: ServiceRig;
let api: ServiceApi;

shareAmongTests(async (onEnd) => {
  rig = await openServiceRig({ queue: 'postgres' });
  onEnd(() => rig.close());
  api = rig.apiOf(await rig.start('api,worker,scheduler'));
});

/** Asks for `/healthz` until the work is done, one request at a time, and returns how long the slowest took. */
async function slowestHealth(work: Promise<unknown>): Promise<number> {
  let slowestMs = 0;
  let isDone = false;
  void work.finally(() => (isDone = true)).catch(() => undefined);
  while (!isDone) {
    const begin = performance.now();
    await api.ask('GET', '/healthz');
    slowestMs = Math.max(slowestMs, performance.now() - begin);
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

test('20 messages of 0.9 MB in two sessions are answered, and /healthz answers within a second all the time (G27)', async () => {
  const work = answerAll();
  const slowestMs = await slowestHealth(work);
  await work;
  expect(grouped(await readInputs(rig, {}, 'status'), 'status')).toEqual([{ status: 'answered', n: messages }]);
  expect(slowestMs).toBeLessThan(healthMsMax);
});
