// What only the queue in PostgreSQL promises: what it costs, and that its schema and its connections heal.
import { LATEST_SCHEMA_VERSION } from 'bullmq';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { migrateQueue } from '../../../workers/queue/migrate-queue.ts';
import { startPostgresProxy, type PostgresProxy } from '../../servers/postgres-proxy.ts';
import { withTestDatabase, type TestDatabase } from '../../servers/postgres.ts';
import { gate, newSession, openQueueRig, pending, ring, Seen, type QueueRig } from './queue-rig.ts';

let database: TestDatabase;
let admin: pg.Client;
beforeAll(async () => {
  database = await withTestDatabase();
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
});
beforeEach(() => admin.query('truncate bullmq.job cascade'));
afterAll(async () => {
  await admin.end();
  await database.drop();
});

/** Resolves when a worker has seen its queue empty: from then on it sleeps. */
async function asleep(rig: QueueRig, seen: Seen): Promise<void> {
  await rig.doorbell.ring([ring()]);
  await seen.count(1);
  await expect.poll(() => pending(rig)).toBe(0);
}

test('the shared statements speak to the version of the schema that they were written for', () => {
  // When this fails: read BullMQ's new migrations, look whether `postgres-exchange` still says what BullMQ's own functions
  // would, and only then change the number here.
  expect(LATEST_SCHEMA_VERSION).toBe(11);
});

test('a lone ring for a worker of the same process is one round trip', async () => {
  const proxy = await openProxy();
  const rig = await openQueueRig({ databaseUrl: proxy.urlFor(database.url) });
  const seen = new Seen();
  rig.startWorker({ concurrency: 4, process: async ({ sessionId }) => seen.add(sessionId) });
  await asleep(rig, seen);
  const tags: string[] = [];
  onTestFinished(proxy.onRoundTrip(({ tag, outcome }) => void (outcome === 'ok' && tags.push(tag ?? 'none'))));
  for (let count = 2; count <= 11; count += 1) {
    await rig.doorbell.ring([ring()]);
    await seen.count(count);
  }
  expect(tags.filter((tag) => tag === 'queue: add')).toHaveLength(10);
  expect(tags.filter((tag) => tag === 'queue: exchange')).toEqual([]);
});

test('busy workers share their statements', async () => {
  const proxy = await openProxy();
  const rig = await openQueueRig({ databaseUrl: proxy.urlFor(database.url) });
  await rig.doorbell.ring(Array.from({ length: 500 }, () => ring()));
  let trips = 0;
  onTestFinished(proxy.onRoundTrip(({ outcome }) => void (outcome === 'ok' && (trips += 1))));
  const seen = new Seen();
  rig.startWorker({ concurrency: 64, process: async ({ sessionId }) => seen.add(sessionId) });
  await seen.count(500);
  await expect.poll(() => pending(rig)).toBe(0);
  expect(trips).toBeLessThan(150);
});

test('a ring is received again after the listening connection was ended', async () => {
  const there = await openQueueRig({ databaseUrl: database.url });
  const here = await openQueueRig({ databaseUrl: database.url });
  const seen = new Seen();
  const worker = there.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await asleep(here, seen);
  await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name like 'holdfast:queue%' and datname = current_database() and pid <> pg_backend_pid()`);
  await expect
    .poll(async () => {
      await here.doorbell.ring([ring()]);
      return seen.sessions.length;
    })
    .toBeGreaterThan(1);
  expect(worker.errors).toEqual([]);
});

// Goal: nobody sleeps while a job waits. Method: hold the answer "nothing is there" until a ring was heard that the statement
// could not see; the worker has to look again at once, and not when the poll finds the job.
test('a ring that is received between a query and its answer is not missed', async () => {
  const proxy = await openProxy();
  const there = await openQueueRig({ databaseUrl: proxy.urlFor(database.url) });
  const here = await openQueueRig({ databaseUrl: database.url });
  await admin.query('listen bullmq_jobs');
  onTestFinished(async () => {
    await admin.query('unlisten bullmq_jobs');
  });
  const heard = Promise.withResolvers<void>();
  admin.once('notification', () => heard.resolve());
  const held = proxy.arm({
    when: 'after',
    matches: ({ tag }) => tag === 'queue: exchange',
    at: 1,
    async hit() {
      await here.doorbell.ring([ring()]);
      await heard.promise;
      return 'forward' as const;
    },
  });
  const tags: string[] = [];
  onTestFinished(proxy.onRoundTrip(({ tag, outcome }) => void (outcome === 'ok' && tags.push(tag ?? 'none'))));
  const seen = new Seen();
  there.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await held.reached;
  await seen.count(1);
  expect(tags).not.toContain('queue: poll');
});

test('a connection that breaks at its first use is not remembered as broken (G23)', async () => {
  const proxy = await openProxy();
  const rig = await openQueueRig({ databaseUrl: proxy.urlFor(database.url) });
  const queue = rig.backend.openQueue('main');
  const broken = proxy.arm({
    when: 'before',
    matches: ({ label, tag }) => label === 'holdfast:queue' && tag === null,
    at: 1,
    hit: () => 'drop',
  });
  await expect(queue.getJobCounts('waiting')).rejects.toThrow();
  await broken.reached;
  expect(await queue.getJobCounts('waiting')).toEqual({ waiting: 0 });
});

test('a job whose notification was lost is found by the poll', async () => {
  const rig = await openQueueRig({ databaseUrl: database.url });
  const seen = new Seen();
  rig.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await asleep(rig, seen);
  await admin.query(
    `insert into bullmq.job (queue, id, seq, name, state, data, added_at_ms)
     values ('main', 'unheard.1', nextval('bullmq.job_seq'), 'inbound', 'waiting', jsonb_build_object('sessionId', $1::text), 0)`,
    [newSession()],
  );
  await seen.count(2);
});

test('a job whose worker fell silent is given to the next worker that starts', async () => {
  const dead = await openQueueRig({ databaseUrl: database.url });
  const seenByDead = new Seen();
  dead.startWorker({
    process({ sessionId }) {
      seenByDead.add(sessionId);
      return new Promise(() => undefined);
    },
  });
  const lost = ring();
  await dead.doorbell.ring([lost]);
  await seenByDead.count(1);
  await admin.query(`update bullmq.job set locked_until_ms = 0 where queue = 'main' and state = 'active'`);
  const rig = await openQueueRig({ databaseUrl: database.url });
  const seen = new Seen();
  rig.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await seen.count(1);
  expect(seen.sessions).toEqual([lost.sessionId]);
  await expect.poll(() => pending(rig)).toBe(0);
});

test('a worker that was silent too long does not take away the job of its successor', async () => {
  const rig = await openQueueRig({ databaseUrl: database.url });
  const silent = { seen: new Seen(), gate: gate() };
  rig.startWorker({
    async process({ sessionId }) {
      silent.seen.add(sessionId);
      await silent.gate.opened;
    },
  });
  await rig.doorbell.ring([ring()]);
  await silent.seen.count(1);
  await admin.query(`update bullmq.job set locked_until_ms = 0 where queue = 'main' and state = 'active'`);
  const other = await openQueueRig({ databaseUrl: database.url });
  const successor = { seen: new Seen(), gate: gate() };
  other.startWorker({
    async process({ sessionId }) {
      successor.seen.add(sessionId);
      await successor.gate.opened;
    },
  });
  await successor.seen.count(1);
  silent.gate.open();
  // The silent worker's end travels with the next statement; this ring makes one.
  await rig.doorbell.ring([ring()]);
  await silent.seen.count(2);
  expect((await rig.doorbell.depth()).main.active).toBeGreaterThanOrEqual(1);
  successor.gate.open();
  await expect.poll(() => pending(rig)).toBe(0);
});

test('the schema is made once when many processes start at the same time', async () => {
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
  rig.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
  await rig.doorbell.ring([ring()]);
  await seen.count(1);
});

test('workers and rings continue after the whole schema was dropped under them (G22)', async () => {
  const fresh = await withTestDatabase();
  onTestFinished(() => fresh.drop());
  const rig = await openQueueRig({ databaseUrl: fresh.url });
  const seen = new Seen();
  rig.startWorker({ process: async ({ sessionId }) => seen.add(sessionId) });
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

test('a job with options that the shared statements do not know is refused', async () => {
  const { backend } = await openQueueRig({ databaseUrl: database.url });
  const queue = backend.openQueue('main');
  await expect(queue.addBulk([{ name: 'inbound', data: {}, opts: { delay: 10 } }])).rejects.toThrow(/options/);
  await expect(queue.addBulk([{ name: 'inbound', data: {}, opts: { priority: 1 } }])).rejects.toThrow(/options/);
  await queue.close();
});

test('a process has at most four connections at any time', async () => {
  const fresh = await withTestDatabase();
  onTestFinished(() => fresh.drop());
  const rig = await openQueueRig({ databaseUrl: fresh.url });
  const seen = new Seen();
  for (const lane of ['main', 'subagent', 'cron', 'batch', 'deliver'] as const) {
    rig.startWorker({ lane, concurrency: 16, process: async ({ sessionId }) => seen.add(sessionId) });
  }
  const lanes = ['main', 'subagent', 'cron', 'batch'] as const;
  await Promise.all(
    Array.from({ length: 400 }, (_, index) => rig.doorbell.ring([ring(newSession(), 1, lanes[index % 4])])),
  );
  await seen.count(400);
  const used = await admin.query('select count(*)::int as connections from pg_stat_activity where datname = $1', [
    new URL(fresh.url).pathname.slice(1),
  ]);
  expect(used.rows[0].connections).toBeLessThanOrEqual(4);
});

/** A proxy in front of the database, which sees every round trip. */
async function openProxy(): Promise<PostgresProxy> {
  const { hostname, port } = new URL(database.url);
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
