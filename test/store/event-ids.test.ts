// The check that each new connection makes: users who can see different facts about one server must
// not look like two servers.
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkEventIds } from '../../src/database/event-ids.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

async function offset(): Promise<unknown> {
  const [row] = await rig.rows('select server, xid_offset from holdfast.event_ids');
  return row;
}

/** A connection of this database whose user cannot read the server's identity. */
async function withUnprivilegedClient<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const role = `untold_${new URL(rig.url).pathname.slice(1)}`;
  await rig.rows('revoke execute on function pg_control_system() from public');
  await rig.rows(`create role "${role}"`);
  await rig.rows(`grant usage on schema holdfast to "${role}"`);
  await rig.rows(`grant all on all tables in schema holdfast to "${role}"`);
  const client = new pg.Client({ connectionString: rig.url });
  await client.connect();
  try {
    await client.query(`set role "${role}"`);
    return await work(client);
  } finally {
    await client.end();
    await rig.rows(`drop owned by "${role}"`);
    await rig.rows(`drop role "${role}"`);
  }
}

test('a user without the right to read the server identity raises no ids, and does not hide the server from others', async () => {
  // The connections of the rig have stored the server's identity.
  const before = await offset();
  expect(before).toMatchObject({ server: expect.stringMatching(/^\d+\/\d+$/) });
  expect(await withUnprivilegedClient(checkEventIds)).toBe(false);
  expect(await offset()).toEqual(before);
});
