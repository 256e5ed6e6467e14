import { expect, test } from 'vitest';
import { trimPolls } from '../../src/features/heartbeats/store/heartbeats.ts';
import { trimFires } from '../../src/features/crons/store/settle-fires.ts';
import { newId } from '../../src/ids.ts';
import { addCronFires, readCronFires } from '../rows/crons.ts';
import { addHeartbeats, readHeartbeats } from '../rows/heartbeats.ts';
import { ago } from '../rows/table.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { makeCron } from '../features/crons/cron-rig.ts';
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
  const fires = Object.entries({ completed: '31 days', claimed: '31 days', missed: '1 day' });
  await addCronFires(
    rig,
    ...fires.map(([status, age], n) => ({
      cronId: cron.id,
      scheduledFor: ago(`${n} seconds`),
      status,
      createdAt: ago(age),
    })),
  );
  expect(await trimFires(rig.database)).toBe(false);
  const left = await readCronFires(rig, { cronId: cron.id }, 'status');
  expect(left.map(({ status }) => status).toSorted()).toEqual(['claimed', 'missed']);
});

test('polls are kept as long as events are', async () => {
  const sessionId = await rig.session();
  const poll = { agentId: 'main', sessionId, trigger: 'interval', status: 'skipped' };
  for (const age of ['8 days', '1 day'])
    await addHeartbeats(rig, { id: newId<string>(), ...poll, scheduledFor: ago(age), createdAt: ago(age) });
  expect(await trimPolls(rig.database, 7 * DAY_MS)).toBe(false);
  expect(await readHeartbeats(rig, {}, 'id')).toHaveLength(1);
});
