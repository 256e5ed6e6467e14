// Faults that keep the service from working, as read from rows: one database, in which each fault is created and repaired.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readServiceHealth } from '../../src/store/views/service-health.ts';
import { reportWorker } from '../../src/store/workers/report-worker.ts';
import { readScrapeFigures } from '../../src/store/views/scrape-figures.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());
beforeEach(() =>
  rig.rows('truncate holdfast.workers, holdfast.doorbells, holdfast.crons, holdfast.inbox, holdfast.batches cascade'),
);

/** Without the effects of other tests on the same server. */
async function troubles() {
  const facts = await readServiceHealth(rig.database.reads);
  return facts.filter(({ kind }) => kind !== 'events_held').map(({ kind, name, count }) => `${kind} ${name} ${count}`);
}

interface Process {
  name?: string;
  roles?: string[];
  version?: string;
  slots?: number;
  isReconcilerStalled?: boolean;
  isQueueAway?: boolean;
}

async function report(more: Process = {}): Promise<string> {
  const { name = randomUUID(), roles = ['worker'], version = '1.0.0', slots = 1, isReconcilerStalled = false } = more;
  const { isQueueAway = false } = more;
  const identity = { id: randomUUID(), name, host: 'host', pid: 1, roles, version };
  const lanes = roles.includes('worker') ? { main: { slots, inUse: 0 } } : {};
  await reportWorker(rig.database, identity, { lanes, isQueueAway, isDraining: false, isReconcilerStalled });
  return identity.id;
}

test('due work has no worker until a process with slots in its lane reports', async () => {
  for (const id of [await rig.session(), await rig.session()])
    await rig.rows(
      `insert into holdfast.doorbells (session_id, lane, due_at, rings) values ($1, 'main', now() - interval '10 seconds', 1)`,
      [id],
    );
  await report({ slots: 0 });
  expect(await troubles()).toEqual(['no_worker main 2']);
  await rig.rows(`insert into holdfast.pauses (id, lane, paused_by) values ($1, 'main', 'admin')`, [randomUUID()]);
  expect(await troubles()).toEqual(['paused lane main 1']);
  await rig.rows('truncate holdfast.pauses');
  const id = await report();
  expect(await troubles()).toEqual([]);
  await rig.rows(`update holdfast.workers set seen_at = now() - interval '1 minute' where id = $1`, [id]);
  expect(await troubles()).toEqual(['no_worker main 2']);
});

test('what turns are parked for is reported: a provider that is away, a limit of one after a while, and a budget', async () => {
  await report();
  const budget = randomUUID();
  await rig.rows(
    `insert into holdfast.budgets (id, origin, scope, per, zone, limit_micros, warn_percent, action, is_strict)
     values ($1, 'api', 'all', 'day', 'UTC', 1, 80, 'pause', false)`,
    [budget],
  );
  const parks = [
    ['model_away', 'anthropic', '0'],
    ['model_away', 'anthropic', '1 hour'],
    ['rate_limited', 'openai', '1 minute'],
    ['model_blocked', 'openai/gpt', '1 minute'],
    ['retry_wait', 'google', '0'],
    ['budget_reached', budget, '0'],
    ['provider_batch', 'anthropic', '1 hour'],
  ];
  for (const [code, by, ago] of parks)
    await rig.rows(
      `insert into holdfast.turns (id, session_id, kind, lane, status, epoch, worker, model, prompt_seq, system_sha256, tools_sha256, queued_at, claimed_at,
         park_code, park_text, park_by, park_since)
       values (gen_random_uuid(), gen_random_uuid(), 'message', 'main', 'parked', 1, 'w', 'm', 1, 's', 't', now(), now(), $1, '', $2, now() - $3::interval)`,
      [code, by, ago],
    );
  expect((await troubles()).toSorted()).toEqual([
    'budget_reached all per day 1',
    'model_away anthropic 2',
    'model_limited openai 2',
  ]);
  const { parkedTurns } = await readScrapeFigures(rig.database.reads);
  expect(parkedTurns).toMatchObject({ model_away: 2, rate_limited: 1, provider_batch: 1 });
  await rig.rows('truncate holdfast.turns, holdfast.budgets cascade');
});

test('processes that cannot reach the queue are reported together', async () => {
  await report({ isQueueAway: true });
  await report({ isQueueAway: true });
  await report();
  expect(await troubles()).toEqual(['queue_unreachable queue 2']);
});

test('crons have no scheduler until one reports', async () => {
  await rig.rows(
    `insert into holdfast.crons (id, name, agent_id, origin, schedule, target, payload, next_slot_at)
     values ($1, 'c', 'main', 'api', '{}', 'main', '{}', now())`,
    [randomUUID()],
  );
  await report();
  expect(await troubles()).toEqual(['no_scheduler scheduler 1']);
  await report({ roles: ['scheduler'] });
  expect(await troubles()).toEqual([]);
});

test('a due delayed message and a running batch have no scheduler until one reports', async () => {
  await report();
  const sessionId = await rig.session();
  await rig.rows(
    `insert into holdfast.inbox (id, session_id, seq, kind, body, route, status, deliver_at)
     select gen_random_uuid(), $1, n + 2, 'message', '{}', '', 'delayed', now() + n * interval '1 minute' from unnest(array[-1, 1]) as n`,
    [sessionId],
  );
  expect(await troubles()).toEqual(['no_scheduler scheduler 1']);
  await rig.rows(
    `insert into holdfast.batches (id, status, agent_id, defaults, concurrency, max_failure_percent, format, created_by)
     select gen_random_uuid(), s, 'main', '{}', 1, 50, 'holdfast', 'test' from unnest(array['running', 'paused', 'ended']) as s`,
  );
  expect(await troubles()).toEqual(['no_scheduler scheduler 2']);
  await report({ roles: ['scheduler'] });
  expect(await troubles()).toEqual([]);
});

test('a stalled reconciler, differing versions and a wrong clock are reported with the process', async () => {
  await report({ name: 'stuck', isReconcilerStalled: true });
  const id = await report({ name: 'late', version: '2.0.0' });
  await rig.rows('update holdfast.workers set clock_ahead_ms = -6000 where id = $1', [id]);
  expect(await troubles()).toEqual([
    'reconciler_stalled stuck 1',
    'versions_differ 1.0.0, 2.0.0 2',
    'clock_off late by -6000 ms 1',
  ]);
});

test('a process reports how far its clock is ahead of the clock of the database', async () => {
  await report();
  const [row] = await rig.rows('select abs(clock_ahead_ms) < 1000 as agrees from holdfast.workers');
  expect(row).toEqual({ agrees: true });
});

test('the outbox has stalled when the oldest delivery of a session is overdue', async () => {
  const session = await rig.session();
  const insert = (seq: number, due: string) =>
    rig.rows(
      `insert into holdfast.deliveries (id, session_id, seq, channel, target, payload, due_at, expires_at)
       values ($1, $2, $3, 'webhook', '{}', '{}', now() + $4::interval, now() + interval '1 hour')`,
      [randomUUID(), session, seq, due],
    );
  await insert(1, '1 hour');
  await insert(2, '-1 minute');
  expect(await troubles(), 'the first one is repeated later').toEqual([]);
  await rig.rows(`update holdfast.deliveries set due_at = now() - interval '1 minute' where seq = 1`);
  expect(await troubles()).toEqual(['outbox_stalled webhook 1']);
});

test('a receiver that fails is named after its first failure, once for all of its deliveries, until it has accepted them', async () => {
  await rig.rows(
    `update holdfast.deliveries set attempts = 1, last_error = 'HTTP 500', due_at = now() + interval '5 s',
       target = '{"url":"https://me:secret@hooks.example:8443/replies?key=secret"}'`,
  );
  expect(await troubles()).toEqual(['deliveries_failing webhook hooks.example:8443 2']);
  await rig.rows(`update holdfast.deliveries set status = 'sent'`);
  expect(await troubles()).toEqual([]);
});

test('an open transaction that has written something is named with its session', async () => {
  const client = new pg.Client({ connectionString: rig.url, application_name: 'abandoned' });
  await client.connect();
  await client.query('begin');
  await client.query('select pg_current_xact_id()');
  const { rows } = await client.query('select pg_backend_pid() as pid, current_database() as database');
  const isNamed = async () => {
    const { oldestTransaction } = await readScrapeFigures(rig.database.reads);
    return oldestTransaction?.application;
  };
  // Another test on this server may have begun one before.
  await expect.poll(isNamed, { timeout: 120_000 }).toBe('abandoned');
  const { oldestTransaction, heldBackMs } = await readScrapeFigures(rig.database.reads);
  expect(oldestTransaction).toMatchObject({ ...rows[0], ageMs: expect.any(Number) });
  await report();
  expect((await readScrapeFigures(rig.database.reads)).heldBackMs).toBeGreaterThan(heldBackMs);
  await client.query('rollback');
  await client.end();
});
