// Goal: one lost connection must not end the reconciler (G22, G23). Method: the connection breaks
// on which the reconciler first asks the queue, while 160 messages wait; then the queue is wiped,
// so that only the reconciler can ring.
import { expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { countInputs } from '../rows/inputs.ts';
import { emptyQueue } from '../servers/empty-queue.ts';
import { startPostgresProxy, type PostgresProxy } from '../servers/postgres-proxy.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { openServiceRig, type ServiceRig } from './rig/service-rig.ts';

const messages = 160;
const withinMs = 120_000;

let rig: ServiceRig;
let proxy: PostgresProxy;
let api: ServiceApi;

shareAmongTests(async (onEnd) => {
  const opened = await openServiceRig({ queue: 'postgres', env: { HOLDFAST_CONCURRENCY: 'main=4' } });
  onEnd(() => opened.close());
  const { hostname: host, port } = new URL(opened.databaseUrl);
  const between = await startPostgresProxy({ host, port: Number(port) });
  onEnd(() => between.close());
  [rig, proxy] = [opened, between];
});

test(
  'the reconciler rings for 160 waiting messages after its first connection to the queue broke and the queue was wiped (G22)',
  { timeout: 240_000 },
  async () => {
    const env = { DATABASE_URL: proxy.urlFor(rig.databaseUrl) };
    const front = await rig.start('api,worker,scheduler', { env });
    api = rig.apiOf(front);
    // Our own statements have tags, so this one is BullMQ's.
    const broken = proxy.arm({
      when: 'before',
      matches: ({ label, tag }) => label === 'holdfast:queue' && tag === null,
      at: 1,
      hit: () => 'drop',
    });
    await Promise.all(
      Array.from({ length: messages }, (_, n) =>
        api.send(`waiting-${n}`, { text: `[[delay: 200]] [[reply: Answer ${n}.]]` }),
      ),
    );
    await broken.reached;
    await emptyQueue(rig.databaseUrl);
    await waitUntil('all messages are answered', withinMs, async () => {
      return (await countInputs(rig, { status: 'answered' })) === messages;
    });
    expect((await api.ask('GET', '/readyz')).status).toBe(200);
  },
);
