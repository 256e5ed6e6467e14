// Goal: an outage of Redis delays work and stops none: messages are accepted, answered, followed up
// and delivered while it lasts, and the log says so in a few lines (G22). Method: Redis is killed
// under an API and two workers, and restarted at the end.
import { expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { isRedisWanted, startTestRedis } from '../servers/redis.ts';
import { openServiceRig } from './rig/service-rig.ts';
import { startReceiver } from './rig/webhook-receiver.ts';

const sessions = 12;
const rounds = 2;
const linesMax = 10;

test.runIf(isRedisWanted())(
  'messages are answered and delivered while Redis is down, and the API is degraded and ready (G22)',
  { timeout: 240_000 },
  async () => {
    const redis = await startTestRedis();
    onTestFinished(() => redis.stop());
    // This test has its own Redis, so that it can be killed.
    const rig = await openServiceRig({ queue: 'postgres', env: { REDIS_URL: redis.url } });
    onTestFinished(() => rig.close());
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const [front, ...workers] = await Promise.all([
      rig.start('api'),
      rig.start('worker,scheduler'),
      rig.start('worker'),
    ]);
    const api = rig.apiOf(front);
    await api.settled(await api.send('before', { text: '[[reply: Before.]]' }));

    await redis.kill();
    await waitUntil('the API knows it', 150_000, async () => {
      const { status, body } = await api.ask('GET', '/readyz');
      return status === 200 && body.status === 'degraded';
    });
    const { body: readiness } = await api.ask('GET', '/readyz');
    expect(readiness.dependencies).toContainEqual(expect.objectContaining({ name: 'queue', status: 'failed' }));
    for (let round = 1; round <= rounds; round += 1) {
      const messages = await Promise.all(
        Array.from({ length: sessions }, (_, n) =>
          api.send(`away-${n}`, { text: `[[reply: Answer ${round}.${n}.]]`, deliver: { url: receiver.url } }),
        ),
      );
      for (const [n, message] of messages.entries()) {
        expect(await api.settled(message)).toMatchObject({ status: 'answered', reply: `Answer ${round}.${n}.` });
      }
    }
    await waitUntil('all replies are delivered', 150_000, () => receiver.received.length >= rounds * sessions);
    expect(receiver.received).toHaveLength(rounds * sessions);

    for (const one of [front, ...workers]) {
      const lines = one
        .output()
        .split('\n')
        .filter((line) => line.includes('"level":40') || line.includes('"level":50'));
      expect(lines.length).toBeLessThan(linesMax);
      expect(lines.filter((line) => line.includes('"stack"'))).toEqual([]);
    }

    await redis.restart();
    await waitUntil('the API is ready', 150_000, async () => (await api.ask('GET', '/readyz')).body.status === 'ready');
    expect(await api.settled(await api.send('after', { text: '[[reply: After.]]' }))).toMatchObject({
      status: 'answered',
    });
  },
);
