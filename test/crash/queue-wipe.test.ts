// Goal: the queue is only a doorbell; emptying it costs time and loses no message (G22). Method: 200 messages arrive in five
// rounds, and after each round all data of BullMQ is deleted while the workers run.
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { isRedisWanted } from '../servers/redis.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { countByStatus, judgeMany, planMessages, sendMany } from './rig/many-messages.ts';
import { waitUntil } from './rig/wait-until.ts';

const answerMs = 150;
/** A round of `planMessages`: one message for each session. */
const sessions = 40;
const wipeEvery = sessions;
const workedOffWithinMs = 240_000;
const wipedWithinMs = 60_000;
const DEADLOCK_DETECTED = '40P01';

async function wipePostgres(rig: CrashRig): Promise<void> {
  const { rows } = await rig.database.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'bullmq' order by 1`,
  );
  expect(rows.length).toBeGreaterThan(0);
  // BullMQ's functions lock its tables in another order: one of the two may fail with a deadlock, and is sent again.
  await waitUntil('the tables are empty', wipedWithinMs, async () => {
    try {
      await rig.database.query(`truncate ${rows.map(({ name }) => name).join(', ')} cascade`);
      return true;
    } catch (error) {
      if ((error as { code?: string }).code !== DEADLOCK_DETECTED) throw error;
      return false;
    }
  });
}

async function wipeRedis(rig: CrashRig): Promise<void> {
  const redis = new Redis(rig.redisUrl!);
  await redis.flushall();
  await redis.quit();
}

const queues = [
  { queue: 'postgres' as const, wipe: wipePostgres },
  ...(isLongForm() && isRedisWanted() ? [{ queue: 'redis' as const, wipe: wipeRedis }] : []),
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

  test('wiping the queue while 200 messages wait loses, doubles and reorders none (G22)', async () => {
    const plan = planMessages('wipe', sessions, 5);
    let waiting = 0;
    for (let sent = 0; sent < plan.length; sent += wipeEvery) {
      await sendMany(rig, plan.slice(sent, sent + wipeEvery), answerMs);
      await wipe(rig);
      waiting += (await countByStatus(rig, 'wipe'))['waiting'] ?? 0;
    }
    // Messages that wait after the wipe have no ring.
    expect(waiting).toBeGreaterThan(0);
    expect(await judgeMany(rig, 'wipe', plan, workedOffWithinMs)).toEqual([]);
  });
});
