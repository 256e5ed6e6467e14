// Goal: slow reads do not slow turns down. Method: a lock makes reads wait until their time limit
// ends them.
import pg from 'pg';
import { expect, test } from 'vitest';
import { lockTables } from '../rows/whole-tables.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

test('blocked reads end at their time limit with a clear 503, and turns run meanwhile', async () => {
  const { rig } = holder;
  const locker = new pg.Client({ connectionString: rig.databaseUrl });
  await locker.connect();
  try {
    await locker.query('begin');
    await lockTables(locker, 'cron_fires', 'crons');
    // As many as there are connections for reading.
    const reads = Array.from({ length: 3 }, () => rig.get('/v1/crons'));
    const { body } = await rig.post('/v1/sessions/meanwhile/messages', { text: '[[reply: done]]' });
    await rig.work('meanwhile');
    for (const read of await Promise.all(reads))
      expect(read).toMatchObject({ status: 503, body: { code: 'read_timeout', title: 'The read took too long' } });
    expect((await rig.get(`/v1/messages/${body.message.id}`)).body).toMatchObject({
      status: 'answered',
      reply: 'done',
    });
  } finally {
    await locker.end();
  }
  expect((await rig.get('/v1/crons')).status).toBe(200);
});
