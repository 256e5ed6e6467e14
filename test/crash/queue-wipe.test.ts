// Goal: the queue is only a doorbell; emptying it costs time and loses no message (G22). Method:
// 200 messages arrive in five rounds, and after each round all data of BullMQ is deleted while the
// workers run.
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { emptyQueue } from '../servers/empty-queue.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { isRedisWanted } from '../servers/redis.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { countByStatus, judgeMany, planMessages, sendMany } from './rig/many-messages.ts';

const answerMs = 150;
/** A round of `planMessages`: one message for each session. */
const sessions = 40;
const wipeEvery = sessions;
const workedOffWithinMs = 240_000;

async function wipeRedis(rig: CrashRig): Promise<void> {
  const redis = new Redis(rig.redisUrl!);
  await redis.flushall();
  await redis.quit();
}

const queues = [
  { queue: 'postgres' as const, wipe: (_rig: CrashRig, databaseUrl: string) => emptyQueue(databaseUrl) },
  ...(isLongForm() && isRedisWanted() ? [{ queue: 'redis' as const, wipe: wipeRedis }] : []),
];

describe.each(queues)('with the queue in $queue', ({ queue, wipe }) => {
  let rig: CrashRig;
  let databaseUrl: string;

  shareAmongTests(async (onEnd) => {
    const testDatabase = await withTestDatabase();
    onEnd(() => testDatabase.drop());
    const made = await startCrashRig({ databaseUrl: testDatabase.url, queue });
    onEnd(() => made.close());
    rig = made;
    databaseUrl = testDatabase.url;
  });

  test('wiping the queue while 200 messages wait loses, doubles and reorders none (G22)', async () => {
    const plan = planMessages('wipe', sessions, 5);
    let waiting = 0;
    for (let sent = 0; sent < plan.length; sent += wipeEvery) {
      await sendMany(rig, plan.slice(sent, sent + wipeEvery), answerMs);
      await wipe(rig, databaseUrl);
      waiting += (await countByStatus(rig, 'wipe'))['waiting'] ?? 0;
    }
    // Messages that wait after the wipe have no ring.
    expect(waiting).toBeGreaterThan(0);
    expect(await judgeMany(rig, 'wipe', plan, workedOffWithinMs)).toEqual([]);
  });
});
