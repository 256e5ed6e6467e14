// Guarantees of the queue in PostgreSQL only: few connections, which recover, and so does its
// schema.
import type { Queue } from 'bullmq';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { migrateQueue } from '../../../workers/queue/migrate-queue.ts';
import { startLaneWorkers, type LaneWorker } from '../../../workers/queue/start-lane-worker.ts';
import { emptyQueue } from '../../servers/empty-queue.ts';
import { startPostgresProxy, type PostgresProxy } from '../../servers/postgres-proxy.ts';
import { withTestDatabase, type TestDatabase } from '../../servers/postgres.ts';
import type { RoundTrip } from '../../servers/round-trips.ts';
import { asleep, gate, newSession, openQueueRig, pending, ring, Seen } from './queue-rig.ts';

const LANES = ['main', 'subagent', 'cron', 'batch', 'deliver'] as const;

let database: TestDatabase;
let admin: pg.Client;
beforeAll(async () => {
  database = await withTestDatabase();
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
});
beforeEach(() => emptyQueue(database.url));
afterAll(async () => {
  await admin.end();
  await database.drop();
});

// Goal: emptying the queue in a test ends no statement of a worker. Method: a transaction locks one
// table of BullMQ, and another one when the queue is being emptied; with any fixed order of locks,
// one of the two orders of this transaction is a deadlock.
test.each([
  ['bullmq.job', 'bullmq.job_dependency'],
  ['bullmq.job_dependency', 'bullmq.job'],
])('the queue is emptied without a deadlock while a transaction locks %s and then %s', async (first, second) => {
  const worker = new pg.Client({ connectionString: database.url });
  await worker.connect();
  onTestFinished(() => worker.end());
  await worker.query(`begin; lock table ${first} in row exclusive mode`);
  const emptied = emptyQueue(database.url);
  const attempts = `select 1 from pg_stat_activity where query like 'lock table % truncate %' and pid <> pg_backend_pid()`;
  await expect.poll(async () => (await admin.query(attempts)).rows.length).toBeGreaterThan(0);
  await worker.query(`lock table ${second} in row exclusive mode`);
  await worker.query('commit');
  await emptied;
});

test('a ring is received again after the listening connection was ended', async () => {
  const there = await openQueueRig({ databaseUrl: database.url });
  const here = await openQueueRig({ databaseUrl: database.url });
  const seen = new Seen();
  const worker = await there.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await asleep(here, seen);
  await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`);
  await expect
    .poll(async () => {
      await here.doorbell.ring([ring()]);
      return seen.sessions.length;
    })
    .toBeGreaterThan(1);
  expect(worker.errors).toEqual([]);
});

test('a database that stops right after the queue was closed is no outage of the queue', async () => {
  const fresh = await withTestDatabase();
  const rig = await openQueueRig({ databaseUrl: fresh.url });
  const seen = new Seen();
  await rig.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await Promise.all(Array.from({ length: 30 }, () => rig.doorbell.ring([ring()])));
  await seen.count(30);
  await rig.close();
  // Ends the remaining connections.
  await fresh.drop();
  expect(rig.warnings).toEqual([]);
});

test('a connection that breaks while the queue is opened is not remembered as broken (G23)', async () => {
  const proxy = await openProxy();
  const broken = proxy.arm({
    when: 'before',
    matches: ({ label }) => label === 'holdfast:queue',
    at: 1,
    hit: () => 'drop',
  });
  await expect(openQueueRig({ databaseUrl: proxy.urlFor(database.url) })).rejects.toThrow();
  await broken.reached;
  const rig = await openQueueRig({ databaseUrl: proxy.urlFor(database.url) });
  expect(await pending(rig)).toBe(0);
});

test('a connection that breaks at the first use of a queue is not remembered as broken (G23)', async () => {
  const proxy = await openProxy();
  const { backend } = await openQueueRig({ databaseUrl: proxy.urlFor(database.url) });
  const isCount = ({ sql }: RoundTrip): boolean => sql.some((text) => text.includes('Job counts'));
  const broken = proxy.arm({ when: 'before', matches: isCount, at: 1, hit: () => 'drop' });
  await expect(backend.queue('main').getJobCounts('waiting')).rejects.toThrow();
  await broken.reached;
  expect(await backend.queue('main').getJobCounts('waiting')).toEqual({ waiting: 0 });
});

// Goal: BullMQ immediately repeats a failed statement, and a database without the schema must not
// be queried without pause. Method: the schema is deleted and stays away; a worker's statements
// fail one after the other, so ten of them take nine pauses.
test('a worker whose statements fail pauses after each of them', async () => {
  const fresh = await withTestDatabase();
  onTestFinished(() => fresh.drop());
  const proxy = await openProxy(fresh.url);
  const rig = await openQueueRig({ databaseUrl: proxy.urlFor(fresh.url), isMigrating: false });
  const failedAtMs: number[] = [];
  onTestFinished(proxy.onRoundTrip(({ outcome }) => void (outcome === 'error' && failedAtMs.push(performance.now()))));
  const isTaking = ({ sql }: RoundTrip): boolean => sql.some((text) => text.includes('move_to_active'));
  proxy.arm({
    when: 'before',
    matches: isTaking,
    at: 1,
    hit: () => run(fresh.url, 'drop schema bullmq cascade').then(() => 'forward'),
  });
  await rig.startWorker({ process: async () => undefined });
  await expect.poll(() => failedAtMs.length).toBeGreaterThanOrEqual(30);
  expect((failedAtMs[29] ?? 0) - (failedAtMs[0] ?? 0)).toBeGreaterThan(700);
});

test('an idle worker does not ask for delayed jobs and rate limits, which there are not', async () => {
  const proxy = await openProxy();
  const sent: string[] = [];
  onTestFinished(proxy.onRoundTrip(({ sql, outcome }) => void (outcome === 'ok' && sent.push(...sql))));
  const rig = await openQueueRig({ databaseUrl: proxy.urlFor(database.url) });
  const seen = new Seen();
  await rig.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await asleep(rig, seen);
  await rig.doorbell.ring([ring()]);
  await seen.count(2);
  expect(sent.filter((text) => text.includes('move_to_active')).length).toBeGreaterThan(1);
  expect(sent.filter((text) => text.includes('next_'))).toEqual([]);
});

test('a job whose notification was lost is found by the poll', async () => {
  const rig = await openQueueRig({ databaseUrl: database.url });
  const seen = new Seen();
  await rig.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await asleep(rig, seen);
  await storeUnheard('unheard.1');
  await seen.count(2);
});

// Goal: a job of which a worker was not notified, because it had no listening connection, does not
// wait for the next notification. Method: the first `LISTEN` after the end of that connection
// fails; BullMQ then listens without polling for an hour. Its one poll before that fails too, and a
// job has arrived meanwhile.
test('a job that arrived while a worker could not listen is found although the first poll for it failed (G22)', async () => {
  const here = await openQueueRig({ databaseUrl: database.url });
  const proxy = await openProxy();
  const there = await openQueueRig({ databaseUrl: proxy.urlFor(database.url) });
  const seen = new Seen();
  await there.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await asleep(here, seen);
  const is = (part: string) => (trip: RoundTrip) => trip.sql.some((text) => text.includes(part));
  const deaf = proxy.arm({ when: 'before', matches: is('LISTEN bullmq_jobs'), at: 1, hit: () => 'drop' });
  proxy.sever();
  await deaf.reached;
  const blind = proxy.arm({
    when: 'before',
    matches: is('has a claimable'),
    at: 1,
    hit: () => storeUnheard('unheard.2').then(() => 'drop'),
  });
  await blind.reached;
  await seen.count(2);
});

test('a running job whose lock is gone from the queue is no outage of the queue', async () => {
  const proxy = await openProxy();
  const rig = await openQueueRig({ databaseUrl: proxy.urlFor(database.url), jobLockMs: 200 });
  const { opened, open } = gate();
  const seen = new Seen();
  await rig.startWorker({
    async process({ sessionId }) {
      seen.add(sessionId);
      await opened;
    },
  });
  await rig.doorbell.ring([ring()]);
  await seen.count(1);
  await emptyQueue(database.url);
  const isRenewal = ({ sql }: RoundTrip): boolean => sql.some((text) => text.includes('active-job locks'));
  // When the second one begins, the answer of the first has been read.
  await proxy.arm({ when: 'before', matches: isRenewal, at: 2, hit: () => 'forward' }).reached;
  open();
  await expect.poll(() => pending(rig)).toBe(0);
  expect(rig.warnings).toEqual([]);
});

test('if one lane cannot be started, the others run no jobs', async () => {
  const proxy = await openProxy();
  const rig = await openQueueRig({ databaseUrl: proxy.urlFor(database.url) });
  const lanes = ['main', 'subagent', 'cron', 'batch'] as const;
  const broken = proxy.arm({ when: 'before', matches: ({ label }) => label === 'batch', at: 1, hit: () => 'drop' });
  const seen = new Seen();
  const process = (owner: string) => async (): Promise<void> => seen.add(owner);
  const options = lanes.map((lane) => ({ lane, concurrency: 1, onEnd: () => undefined, process: process('failed') }));
  const end = async (started: LaneWorker[]): Promise<void> => {
    await Promise.all(started.map((worker) => worker.drain(10_000)));
  };
  await expect(startLaneWorkers(rig.backend, options, end)).rejects.toThrow();
  await broken.reached;
  const rings = lanes.map((lane) => ring(newSession(), 1, lane));
  await rig.doorbell.ring(rings);
  const next = await openQueueRig({ databaseUrl: database.url });
  for (const lane of lanes) await next.startWorker({ lane, process: process('next') });
  await seen.count(rings.length);
  expect(seen.sessions).toEqual(rings.map(() => 'next'));
});

test('the schema is created once when many processes start at the same time', async () => {
  const fresh = await withTestDatabase();
  onTestFinished(() => fresh.drop());
  await run(fresh.url, 'drop schema bullmq cascade');
  await Promise.all(Array.from({ length: 5 }, () => migrateQueue(fresh.url)));
  expect(await migrateQueue(fresh.url)).toBe(false);
});

test('a queue whose tables were all emptied, the ledger too, is created again at the next start (G22)', async () => {
  const fresh = await withTestDatabase();
  onTestFinished(() => fresh.drop());
  await run(
    fresh.url,
    `do $$ begin execute (select 'truncate ' || string_agg(format('%I.%I', schemaname, tablename), ', ')
      from pg_tables where schemaname = 'bullmq'); end $$`,
  );
  const rig = await openQueueRig({ databaseUrl: fresh.url });
  const seen = new Seen();
  await rig.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await rig.doorbell.ring([ring()]);
  await seen.count(1);
});

test('workers and rings continue after the whole schema was dropped under them (G22)', async () => {
  const fresh = await withTestDatabase();
  onTestFinished(() => fresh.drop());
  const rig = await openQueueRig({ databaseUrl: fresh.url });
  const seen = new Seen();
  await rig.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await asleep(rig, seen);
  await run(fresh.url, 'drop schema bullmq cascade');
  await expect
    .poll(
      async () => {
        await rig.doorbell.ring([ring()]);
        return seen.sessions.length;
      },
      { interval: 100 },
    )
    .toBeGreaterThan(1);
});

test('the workers of a process share one connection to listen on, and tools of BullMQ know each of them, also after that connection was ended', async () => {
  const fresh = await withTestDatabase();
  onTestFinished(() => fresh.drop());
  const rig = await openQueueRig({ databaseUrl: fresh.url });
  const seen = new Seen();
  for (const lane of LANES) await rig.startWorker({ lane, process: async ({ sessionId }) => seen.add(sessionId) });
  await expect.poll(() => listenersOf(fresh)).toHaveLength(1);
  const [before] = await listenersOf(fresh);
  await admin.query('select pg_terminate_backend($1)', [before]);
  await expect.poll(() => listenersOf(fresh)).not.toEqual([before]);
  await expect.poll(() => listenersOf(fresh)).toHaveLength(1);
  const there = await openQueueRig({ databaseUrl: fresh.url });
  await there.doorbell.ring([ring()]);
  await seen.count(1);
  for (const lane of LANES) expect(await (rig.backend.queue(lane) as Queue).getWorkers()).toHaveLength(1);
});

test('statements that were prepared for a schema that was made again are prepared again, and no caller notices', async () => {
  const fresh = await withTestDatabase();
  onTestFinished(() => fresh.drop());
  const rig = await openQueueRig({ databaseUrl: fresh.url });
  const queue = rig.backend.queue('main') as Queue;
  const add = async () => {
    await rig.doorbell.ring([ring()]);
    return (await queue.getJobs('waiting')).length;
  };
  expect(await add()).toBe(1);
  await run(fresh.url, 'drop schema bullmq cascade');
  await migrateQueue(fresh.url);
  expect(await add()).toBe(1);
  expect(rig.warnings).toEqual([]);
});

test('BullMQ stores no events, also in a schema that another version has made', async () => {
  const fresh = await withTestDatabase();
  onTestFinished(() => fresh.drop());
  await run(
    fresh.url,
    `create or replace function bullmq.publish_event(p_queue text, p_event text, p_data jsonb) returns bigint language sql
     as $$ insert into bullmq.event (queue, event, data, created_at_ms) values (p_queue, p_event, p_data, 0) returning id $$`,
  );
  const rig = await openQueueRig({ databaseUrl: fresh.url });
  const seen = new Seen();
  await rig.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await rig.doorbell.ring([ring()]);
  await seen.count(1);
  await expect.poll(() => pending(rig)).toBe(0);
  const client = new pg.Client({ connectionString: fresh.url });
  await client.connect();
  onTestFinished(() => client.end());
  expect((await client.query('select from bullmq.event')).rowCount).toBe(0);
});

test('a process has at most three connections more than workers', async () => {
  const fresh = await withTestDatabase();
  onTestFinished(() => fresh.drop());
  const rig = await openQueueRig({ databaseUrl: fresh.url });
  const seen = new Seen();
  for (const lane of LANES) {
    await rig.startWorker({ lane, concurrency: 16, process: async ({ sessionId }) => seen.add(sessionId) });
  }
  const lanes = ['main', 'subagent', 'cron', 'batch'] as const;
  await Promise.all(
    Array.from({ length: 400 }, (_, index) => rig.doorbell.ring([ring(newSession(), 1, lanes[index % 4])])),
  );
  await seen.count(400);
  const used = await admin.query('select count(*)::int as connections from pg_stat_activity where datname = $1', [
    new URL(fresh.url).pathname.slice(1),
  ]);
  expect(used.rows[0].connections).toBeLessThanOrEqual(3 + 5);
});

/** The server's processes that listen for jobs. */
async function listenersOf({ url }: TestDatabase): Promise<number[]> {
  const { rows } = await admin.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = $1 and query like 'LISTEN%'`,
    [new URL(url).pathname.slice(1)],
  );
  return rows.map(({ pid }) => pid);
}

/** Stores a job that no worker is notified of. */
async function storeUnheard(id: string): Promise<void> {
  await admin.query(
    `insert into bullmq.job (queue, id, seq, name, state, data, added_at_ms)
     values ('main', $1, nextval('bullmq.job_seq'), 'inbound', 'waiting', jsonb_build_object('sessionId', $2::text), 0)`,
    [id, newSession()],
  );
}

/** A proxy in front of the database, which sees every round trip. */
async function openProxy(url = database.url): Promise<PostgresProxy> {
  const { hostname, port } = new URL(url);
  const proxy = await startPostgresProxy({ host: hostname, port: Number(port) });
  onTestFinished(() => proxy.close());
  return proxy;
}

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}
