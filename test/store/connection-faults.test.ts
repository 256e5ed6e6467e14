// The errors of `pg` for broken connections, and the codes that they get: against the installed
// sources, and against a real server.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isFaultOfDatabase, CONNECTION_FAULTS, withCode, isPassingFault } from '../../src/database/passing-faults.ts';
import { crons } from '../../src/features/crons/rows.ts';
import { idempotencyKeys } from '../../src/rows/idempotency-keys.ts';
import { openDatabase, type Database } from '../../src/database/database.ts';
import { beginFile, completeFile } from '../../src/features/openai/store/client-files.ts';
import { eq, query } from '../../src/database/drizzle.ts';
import { isKeyTaken, readKey, storeKey } from '../../src/database/idempotency.ts';
import { transaction } from '../../src/database/transaction.ts';
import { withTestDatabase, type TestDatabase } from '../servers/postgres.ts';
import { startPostgresProxy, type PostgresProxy } from '../servers/postgres-proxy.ts';

const require = createRequire(import.meta.url);
const client = require.resolve('pg/lib/client');
const pool = createRequire(client).resolve('pg-pool');
const sources = [client, pool].map((path) => readFileSync(path, 'utf8')).join('\n');

let server: TestDatabase;
let proxy: PostgresProxy;
let database: Database;

beforeAll(async () => {
  server = await withTestDatabase();
  const { hostname, port } = new URL(server.url);
  proxy = await startPostgresProxy({ host: hostname, port: Number(port) });
  database = openDatabase({ url: proxy.urlFor(server.url), role: 'test', hotConnections: 1 });
});

afterAll(async () => {
  await database?.close();
  await proxy?.close();
  await server?.drop();
});

test.each([...CONNECTION_FAULTS])('pg throws %j, and it is a fault of the database', (sentence, code) => {
  expect(sources).toContain(`'${sentence}'`);
  expect(isFaultOfDatabase(code)).toBe(true);
});

test('a connection that breaks during a statement rejects with a code, and the fault is temporary', async () => {
  proxy.arm({ when: 'before', at: 1, matches: ({ tag }) => tag === 'broken', hit: () => 'drop' });
  const fault = await database.hot.query('/* broken */ select 1').catch((error: unknown) => error);
  expect(fault).toMatchObject({ code: 'connection_lost' });
  expect(isPassingFault(fault)).toBe(true);
  // As a caller wraps it.
  expect(isPassingFault(new Error('Failed query', { cause: fault }))).toBe(true);
  expect((await database.hot.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
});

test('a transaction whose connection breaks is made again from its beginning', async () => {
  proxy.arm({ when: 'before', at: 1, matches: ({ tag }) => tag === 'written', hit: () => 'drop' });
  const [row] = await transaction(database.hot, async (tx) => {
    tx.write({ name: 'written', text: '/* written */ select 1', values: [] });
    const read = tx.query<{ one: number }>({ name: 'read', text: 'select 1 as one', values: [] });
    return () => read;
  });
  expect(row).toEqual({ one: 1 });
});

test('a file is completed, too, when the answer of its commit is lost', async () => {
  const id = randomUUID();
  await beginFile(database, { id, filename: 'lines.jsonl', purpose: 'batch', createdBy: 'test' });
  const complete = () => completeFile(database, { id, bytes: 0, keepMs: 60_000, idempotency: null });
  expect([await complete(), await complete()]).toEqual([true, true]);
});

test('a transaction is made again after a deadlock of a write whose answer nothing has awaited', async () => {
  let attempts = 0;
  const [row] = await transaction(database.hot, async (tx) => {
    attempts += 1;
    const text = attempts === 1 ? `do $$ begin raise sqlstate '40P01'; end $$` : 'select 1';
    tx.write({ name: `written-${attempts}`, text, values: [] });
    await tx.query({ name: 'read-first', text: 'select 1 as one', values: [] });
    return tx.query<{ one: number }>({ name: 'read', text: 'select 1 as one', values: [] });
  });
  expect({ row, attempts }).toEqual({ row: { one: 1 }, attempts: 2 });
});

test('a transaction that stops with a lock loses it, and is made again', async () => {
  let attempts = 0;
  const stopped = transaction(database.hot, async (tx) => {
    attempts += 1;
    const [own] = await tx.query<{ pid: number }>({
      name: 'own',
      text: 'select pg_backend_pid() as pid',
      values: [],
    });
    // As a process that is stopped: it sends nothing until its connection is gone.
    if (attempts === 1) await expect.poll(() => isConnected(own!.pid), { timeout: 10_000 }).toBe(false);
    return attempts;
  });
  // On a busy machine the second one may stop for as long.
  expect(await stopped).toBeGreaterThan(1);
});

async function isConnected(pid: number): Promise<boolean> {
  return (await database.views.query('select from pg_stat_activity where pid = $1', [pid])).rows.length > 0;
}

test('a transaction that throws is undone, and its connection is used again', async () => {
  const request = { scope: 's', key: 'undone', sha256: 'x' };
  const thrown = transaction(database.hot, async (tx) => {
    await storeKey(tx, request, {});
    throw new Error('Not now.');
  });
  await expect(thrown).rejects.toThrow('Not now.');
  expect(await readKey(database.views, request)).toEqual({ kind: 'new' });
});

test('an error of a statement keeps its own code, and is permanent', async () => {
  const fault = await database.hot.query('select nothing').catch((error: unknown) => error);
  expect(fault).toMatchObject({ code: '42703' });
  expect(isPassingFault(fault)).toBe(false);
});

test('queries of drizzle reject with the errors of pg, without the values of the query', async () => {
  proxy.arm({
    when: 'before',
    at: 1,
    matches: ({ sql }) => sql.some((text) => text.includes('idempotency_keys')),
    hit: () => 'drop',
  });
  const request = { scope: 's', key: 'secret', sha256: 'x' };
  const store = () => transaction(database.hot, (tx) => storeKey(tx, request, {}), { retryMs: 0 });
  expect(await store().catch((error: unknown) => error)).toMatchObject({ code: 'connection_lost' });
  await store();
  const taken = await store().catch((error: unknown) => error);
  expect(isKeyTaken(taken)).toBe(true);
  expect(String(taken)).not.toContain('secret');
  const failing = query(database.hot, (db) => db.select().from(crons).where(eq(crons.id, 'secret')));
  expect(await failing.catch((error: unknown) => error)).toMatchObject({ code: '22P02' });
  expect((await query(database.hot, (db) => db.select().from(idempotencyKeys))).map(({ key }) => key)).toEqual([
    'secret',
  ]);
});

test('an error that quotes a message of pg gets no code', () => {
  expect(withCode(new Error('The tool said: Connection terminated'))).not.toHaveProperty('code');
});
