// The snapshots that turns read: from memory if they are there, otherwise from the database, and
// never the wrong one.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { openDatabase, type Database } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { SnapshotCache, takeSnapshot } from '../../src/kernel/turn/transcript-cache.ts';
import { addSnapshots } from '../rows/entries.ts';
import { withTestDatabase } from '../servers/postgres.ts';

let server: Awaited<ReturnType<typeof withTestDatabase>>;
let database: Database;
const open = (): Database => openDatabase({ url: server.url, role: 'test' });

beforeAll(async () => {
  server = await withTestDatabase();
  await migrate(server.url);
  database = open();
});
afterAll(async () => {
  await database.close();
  await server.drop();
});

test('what a worker has kept costs no round trip', async () => {
  const cache = new SnapshotCache();
  const { snapshot } = cache.keep({ a: 1 });
  const closed = open();
  await closed.close();
  expect(await cache.recall(closed, [snapshot.sha256])).toEqual(new Map([[snapshot.sha256, { a: 1 }]]));
  expect(await cache.recall(closed, [])).toEqual(new Map());
  await expect(cache.recall(closed, ['0'.repeat(64)])).rejects.toThrow();
});

test('what another worker has stored is read once, byte for byte', async () => {
  const { sha256, content } = takeSnapshot({ b: 'ü', a: [1, null], c: newId<string>() });
  await addSnapshots(database.views, { sha256, content });
  const cache = new SnapshotCache();
  const [value] = (await cache.recall(database, [sha256, '0'.repeat(64)])).values();
  expect(takeSnapshot(value ?? {})).toEqual({ sha256, content });
  const closed = open();
  await closed.close();
  expect((await cache.recall(closed, [sha256])).size).toBe(1);
});
