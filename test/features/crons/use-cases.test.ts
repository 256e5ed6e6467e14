import { expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { runCronNow } from '../../../src/features/crons/use-cases.ts';
import { readDatabaseTime } from '../../../src/database/database-time.ts';
import { addCronFires, countCronFires, readCronFires } from '../../rows/crons.ts';
import { readInputs } from '../../rows/inputs.ts';
import { not, now } from '../../rows/table.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { makeCron, schedulerParts } from './cron-rig.ts';
import { createStoreRig, type StoreRig } from '../../store/store-rig.ts';

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
  const fromMs = await readDatabaseTime(rig.database);
  const taken = Array.from({ length: 300 }, (_, n) => new Date(fromMs + n));
  const ended = { cronId: cron.id, status: 'completed', firedAt: now, endedAt: now, isManual: true };
  await addCronFires(rig, ...taken.map((scheduledFor) => ({ ...ended, scheduledFor })));
  const ran = await runCronNow(parts, { id: cron.id, by: null }, { causeKey: newId<string>(), idempotency: null });
  if (ran.kind !== 'ran') throw new Error(`The cron was not run: ${ran.kind}.`);
  expect(ran.scheduledFor.getTime()).toBeGreaterThan(taken.at(-1)!.getTime());
  const [fire] = await readCronFires(rig, { cronId: cron.id, messageId: not(null) }, 'messageId');
  expect(await readInputs(rig, { id: fire!.messageId! }, 'status')).toEqual([{ status: 'waiting' }]);
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
  expect(await countCronFires(rig, { cronId: cron.id })).toBe(12);
});
