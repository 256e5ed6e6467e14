// Goal: the queue is only a doorbell; whoever empties it costs time and no message (G22). Method: 200 messages wait, and again and
// again while they are worked off everything that BullMQ has is deleted under the running workers.
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { isRedisWanted } from '../servers/redis.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { countByStatus, judgeMany, planMessages, sendMany } from './rig/many-messages.ts';
import { waitUntil } from './rig/wait-until.ts';

const answerMs = 40;
const workedOffWithinMs = 240_000;

async function wipePostgres(rig: CrashRig): Promise<void> {
  const { rows } = await rig.database.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'bullmq' order by 1`,
  );
  expect(rows.length).toBeGreaterThan(0);
  await rig.database.query(`truncate ${rows.map(({ name }) => name).join(', ')} cascade`);
}

async function wipeRedis(rig: CrashRig): Promise<void> {
  const redis = new Redis(rig.redisUrl!);
  await redis.flushall();
  await redis.quit();
}

const queues = [
  { queue: 'postgres' as const, wipe: wipePostgres },
  ...(isRedisWanted() ? [{ queue: 'redis' as const, wipe: wipeRedis }] : []),
];

describe.each(queues)('with the queue in $queue', ({ queue, wipe }) => {
  let rig: CrashRig;

  shareAmongTests(async (onEnd) => {
    const testDatabase = await withTestDatabase();
    onEnd(() => testDatabase.drop());
    const made = await startCrashRig({ databaseUrl: testDatabase.url, queue });
    onEnd(() => made.close());
    rig = made;
  });

  test('wiping it in the middle of 200 waiting messages loses, doubles and reorders none (G22)', async () => {
    const plan = planMessages('wipe', 40, 5);
    await sendMany(rig, plan, answerMs);
    for (const answered of [10, 60, 120]) {
      await waitUntil(`${answered} messages are answered`, workedOffWithinMs, async () => {
        const counts = await countByStatus(rig, 'wipe');
        return (counts['answered'] ?? 0) >= answered;
      });
      const counts = await countByStatus(rig, 'wipe');
      expect(counts['waiting'] ?? 0, `when ${answered} were answered`).toBeGreaterThan(0);
      await wipe(rig);
    }
    expect(await judgeMany(rig, 'wipe', plan, workedOffWithinMs)).toEqual([]);
  });
});
