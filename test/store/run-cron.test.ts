import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { runCronNow } from '../../src/service/run-cron-now.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { makeCron, schedulerParts } from './cron-rig.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  rig = made;
  onEnd(() => made.drop());
});

const daily = { schedule: { kind: 'every', everyMs: 86_400_000 }, payload: { kind: 'agentTurn', message: 'Tick.' } };

test('a requested run in a millisecond that already has a fire uses a later one (G2)', async () => {
  const parts = schedulerParts(rig.database);
  const cron = await makeCron(rig.database, { ...daily, name: 'busy' });
  // Every millisecond of the near future has its fire.
  const taken = await rig.rows(
    `with taken as (
       insert into holdfast.cron_fires (cron_id, scheduled_for, status, fired_at, ended_at, is_manual)
       select $1, date_trunc('milliseconds', statement_timestamp()) + n * interval '1 millisecond', 'completed', clock_timestamp(),
         clock_timestamp(), true from generate_series(0, 300) as n returning scheduled_for
     ) select max(scheduled_for) as last from taken`,
    [cron.id],
  );
  const ran = await runCronNow(parts, { id: cron.id, by: null }, { causeKey: newId<string>(), idempotency: null });
  if (ran.kind !== 'ran') throw new Error(`The cron was not run: ${ran.kind}.`);
  expect(ran.scheduledFor.getTime()).toBeGreaterThan(taken[0]!['last'].getTime());
  const inputs = await rig.rows(
    'select i.status from holdfast.inbox i join holdfast.cron_fires f on f.message_id = i.id where f.cron_id = $1',
    [cron.id],
  );
  expect(inputs).toEqual([{ status: 'waiting' }]);
});

test('runs requested simultaneously are as many runs', async () => {
  const parts = schedulerParts(rig.database);
  const cron = await makeCron(rig.database, { ...daily, name: 'many' });
  const runs = await Promise.all(
    Array.from({ length: 12 }, () =>
      runCronNow(parts, { id: cron.id, by: null }, { causeKey: newId<string>(), idempotency: null }),
    ),
  );
  expect(runs.map(({ kind }) => kind)).toEqual(runs.map(() => 'ran'));
  const [fires] = await rig.rows('select count(*)::int as count from holdfast.cron_fires where cron_id = $1', [
    cron.id,
  ]);
  expect(fires).toEqual({ count: 12 });
});
