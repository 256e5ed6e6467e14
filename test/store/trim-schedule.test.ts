import { expect, test } from 'vitest';
import { trimPolls } from '../../src/store/heartbeats.ts';
import { trimFires } from '../../src/store/settle-fires.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { makeCron } from './cron-rig.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

const DAY_MS = 86_400_000;

let rig: StoreRig;
shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  rig = made;
  onEnd(() => made.drop());
});

test('fires older than a month are deleted, unless they are still running', async () => {
  const cron = await makeCron(rig.database, {
    schedule: { kind: 'every', everyMs: 1000 },
    payload: { kind: 'agentTurn', message: 'x' },
  });
  await rig.database.views.query(
    `insert into holdfast.cron_fires (cron_id, scheduled_for, status, created_at)
     select $1, now() - n * interval '1 second', status, now() - age from unnest(array['completed', 'claimed', 'missed'],
       array[interval '31 days', interval '31 days', interval '1 day']) with ordinality as t (status, age, n)`,
    [cron.id],
  );
  expect(await trimFires(rig.database)).toBe(false);
  const left = await rig.rows('select status from holdfast.cron_fires where cron_id = $1 order by status', [cron.id]);
  expect(left).toEqual([{ status: 'claimed' }, { status: 'missed' }]);
});

test('polls are kept as long as events are', async () => {
  const sessionId = await rig.session();
  await rig.database.views.query(
    `insert into holdfast.heartbeats (id, agent_id, session_id, scheduled_for, trigger, status, created_at)
     select gen_random_uuid(), 'main', $1, now() - age, 'interval', 'skipped', now() - age
     from unnest(array[interval '8 days', interval '1 day']) as age`,
    [sessionId],
  );
  expect(await trimPolls(rig.database, 7 * DAY_MS)).toBe(false);
  expect(await rig.rows('select id from holdfast.heartbeats')).toHaveLength(1);
});
