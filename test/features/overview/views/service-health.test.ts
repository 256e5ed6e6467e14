// Faults that keep the service from working, as read from rows: one database, in which each fault
// is created and repaired.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { wordsOfHealth } from '../../../../src/features/overview/rules/service-health.ts';
import { readServiceHealth } from '../../../../src/features/overview/views/service-health.ts';
import { reportWorker } from '../../../../src/kernel/processes/report-worker.ts';
import { readScrapeFigures } from '../../../../src/features/overview/views/scrape-figures.ts';
import { newId } from '../../../../src/ids.ts';
import { addBatches } from '../../../rows/batches.ts';
import { addBudgets } from '../../../rows/budgets.ts';
import { addToolCalls } from '../../../rows/calls.ts';
import { addChannelGates, changeChannelGates } from '../../../rows/channel-gates.ts';
import { addCrons } from '../../../rows/crons.ts';
import { addDeliveries, changeDeliveries } from '../../../rows/deliveries.ts';
import { addDoorbells } from '../../../rows/doorbells.ts';
import { addInputs } from '../../../rows/inputs.ts';
import { addPauses, removePauses } from '../../../rows/pauses.ts';
import { ago, ahead, now } from '../../../rows/table.ts';
import { addMcpServers, changeMcpServers } from '../../../rows/mcp-servers.ts';
import { addTurns } from '../../../rows/turns.ts';
import { emptyTables } from '../../../rows/whole-tables.ts';
import { changeWorkers, readWorkers } from '../../../rows/workers.ts';
import { createStoreRig, type StoreRig } from '../../../store/store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());
beforeEach(() => emptyTables(rig, 'workers', 'doorbells', 'crons', 'inbox', 'batches'));

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
  hangingPath?: string;
  isQueueAway?: boolean;
}

async function report(more: Process = {}): Promise<string> {
  const { name = randomUUID(), roles = ['worker'], version = '1.0.0', slots = 1, isReconcilerStalled = false } = more;
  const { isQueueAway = false, hangingPath = null } = more;
  const identity = { id: randomUUID(), name, host: 'host', pid: 1, roles, version };
  const lanes = roles.includes('worker') ? { main: { slots, inUse: 0 } } : {};
  await reportWorker(rig.database, identity, {
    lanes,
    isQueueAway,
    isDraining: false,
    isReconcilerStalled,
    hangingPath,
  });
  return identity.id;
}

test('due work has no worker until a process with slots in its lane reports', async () => {
  for (const id of [await rig.session(), await rig.session()])
    await addDoorbells(rig, { sessionId: id, lane: 'main', dueAt: ago('10 seconds'), rings: 1 });
  await report({ slots: 0 });
  expect(await troubles()).toEqual(['no_worker main 2']);
  await addPauses(rig, { lane: 'main', pausedBy: 'admin' });
  expect(await troubles()).toEqual(['paused lane main 1']);
  await removePauses(rig);
  const id = await report();
  expect(await troubles()).toEqual([]);
  await changeWorkers(rig, { id }, { seenAt: ago('1 minute') });
  expect(await troubles()).toEqual(['no_worker main 2']);
});

test('what turns are parked for is reported: a provider that is away, a limit of one after a while, and a budget', async () => {
  await report();
  const budget = randomUUID();
  await addBudgets(rig, {
    id: budget,
    origin: 'api',
    scope: 'all',
    per: 'day',
    zone: 'UTC',
    limitMicros: 1,
    warnPercent: 80,
    action: 'pause',
    isStrict: false,
  });
  const parks = [
    ['model_away', 'anthropic', '0'],
    ['model_away', 'anthropic', '1 hour'],
    ['model_wrong_address', 'local', '0'],
    ['rate_limited', 'openai', '1 minute'],
    ['model_blocked', 'openai/gpt', '1 minute'],
    ['retry_wait', 'google', '0'],
    ['budget_reached', budget, '0'],
    ['provider_batch', 'anthropic', '1 hour'],
  ] as const;
  for (const [parkCode, parkBy, span] of parks) {
    const parked = { status: 'parked', parkCode, parkText: `${parkCode} at host/path`, parkBy, parkSince: ago(span) };
    await addTurns(rig, { sessionId: newId<string>(), ...parked });
  }
  expect((await troubles()).toSorted()).toEqual([
    'budget_reached all per day 1',
    'model_away anthropic 2',
    'model_limited openai 2',
    'model_wrong_address local 1',
  ]);
  const words = (await readServiceHealth(rig.database.reads)).map((fact) => wordsOfHealth(fact).text);
  expect(words).toContain(
    'At the address of the provider local, something else answers; 1 turn waits for it: model_wrong_address at host/path',
  );
  expect(words.find((text) => text.includes('limits calls'))).not.toContain('host/path');
  const { parkedTurns } = await readScrapeFigures(rig.database.reads);
  expect(parkedTurns).toMatchObject({ model_away: 2, rate_limited: 1, provider_batch: 1 });
  await emptyTables(rig, 'turns', 'budgets');
});

test('processes that cannot reach the queue are reported together', async () => {
  await report({ isQueueAway: true });
  await report({ isQueueAway: true });
  await report();
  expect(await troubles()).toEqual(['queue_unreachable queue 2']);
});

test('crons have no scheduler until one reports', async () => {
  await addCrons(rig, { name: 'c', origin: 'api', schedule: {}, target: 'main', payload: {}, nextSlotAt: now });
  await report();
  expect(await troubles()).toEqual(['no_scheduler scheduler 1']);
  await report({ roles: ['scheduler'] });
  expect(await troubles()).toEqual([]);
});

test('a due delayed message and a running batch have no scheduler until one reports', async () => {
  await report();
  const sessionId = await rig.session();
  const delayed = { sessionId, status: 'delayed' };
  await addInputs(
    rig,
    { ...delayed, seq: 1, deliverAt: ago('1 minute') },
    { ...delayed, seq: 3, deliverAt: ahead('1 minute') },
  );
  expect(await troubles()).toEqual(['no_scheduler scheduler 1']);
  await addBatches(rig, { status: 'running' }, { status: 'paused' }, { status: 'ended' });
  expect(await troubles()).toEqual(['no_scheduler scheduler 2']);
  await report({ roles: ['scheduler'] });
  expect(await troubles()).toEqual([]);
});

test('a stalled reconciler, differing versions and a wrong clock are reported with the process', async () => {
  await report({ name: 'stuck', isReconcilerStalled: true });
  const id = await report({ name: 'late', version: '2.0.0' });
  await changeWorkers(rig, { id }, { clockAheadMs: -6000 });
  expect(await troubles()).toEqual([
    'reconciler_stalled stuck 1',
    'versions_differ 1.0.0, 2.0.0 2',
    'clock_off late by -6000 ms 1',
  ]);
});

test('a process in which a file call hangs is reported with the path', async () => {
  await report({ name: 'stuck', hangingPath: '/mnt/away/notes' });
  await report();
  expect(await troubles()).toEqual(['files_hang stuck at /mnt/away/notes 1']);
});

test('a process reports how far its clock is ahead of the clock of the database', async () => {
  await report();
  const [row] = await readWorkers(rig, {}, 'clockAheadMs');
  expect(Math.abs(row!.clockAheadMs!)).toBeLessThan(1000);
});

test('the outbox has stalled when the oldest delivery of a session is overdue', async () => {
  const session = await rig.session();
  const insert = (seq: number, due: string) => addDeliveries(rig, { sessionId: session, seq, dueAt: ahead(due) });
  await insert(1, '1 hour');
  await insert(2, '-1 minute');
  expect(await troubles(), 'the first one is repeated later').toEqual([]);
  await changeDeliveries(rig, { seq: 1 }, { dueAt: ago('1 minute') });
  expect(await troubles()).toEqual(['outbox_stalled webhook 1']);
});

test('a receiver that fails is named after its first failure, once for all of its deliveries, until it has accepted them', async () => {
  await changeDeliveries(
    rig,
    {},
    {
      attempts: 1,
      lastError: 'HTTP 500',
      dueAt: ahead('5 s'),
      target: { url: 'https://me:secret@hooks.example:8443/replies?key=secret' },
    },
  );
  expect(await troubles()).toEqual(['deliveries_failing webhook hooks.example:8443 2']);
  const chat = { channel: 'telegram', target: { url: 'channel:telegram/main/42' } };
  await changeDeliveries(rig, {}, chat);
  expect(await troubles(), 'the account, as that is named when it is lost').toEqual([
    'deliveries_failing telegram/main 2',
  ]);
  await changeDeliveries(rig, {}, { status: 'sent' });
  expect(await troubles()).toEqual([]);
});

test('the outbox has stalled when the next message of a chat could be sent, not while others of the chat or its account are', async () => {
  const sessions = [await rig.session(), await rig.session()];
  const target = { url: 'channel:telegram/main/42' };
  const to = { channel: 'telegram', target, dueAt: ago('1 minute') };
  await addDeliveries(rig, { ...to, sessionId: sessions[0]!, seq: 1, part: 1, parts: 2, createdAt: ago('2 minutes') });
  await addDeliveries(rig, { ...to, sessionId: sessions[0]!, seq: 1, part: 2, parts: 2, createdAt: ago('2 minutes') });
  await addDeliveries(rig, { ...to, sessionId: sessions[1]!, seq: 1 });
  // No message of a chat keeps a webhook waiting.
  await addDeliveries(rig, { sessionId: sessions[0]!, seq: 2, dueAt: ago('1 minute') });
  expect(await troubles()).toEqual(['outbox_stalled telegram 1', 'outbox_stalled webhook 1']);
  await changeDeliveries(rig, { channel: 'webhook' }, { status: 'sent' });
  for (const place of ['telegram/main/42', 'telegram/main']) {
    await addChannelGates(rig, { place, nextAt: ahead('1 minute') });
    expect(await troubles(), place).toEqual([]);
    await changeChannelGates(rig, { place }, { nextAt: ago('1 minute') });
    expect(await troubles(), place).toEqual(['outbox_stalled telegram 1']);
  }
  await changeDeliveries(rig, { sessionId: sessions[0]!, part: 1 }, { dueAt: ahead('1 hour') });
  expect(await troubles(), 'its first part is repeated later').toEqual([]);
  await changeDeliveries(rig, {}, { status: 'sent' });
});

test('an MCP server is named after two failed tries or 30 s, with the reason, while workers ask it', async () => {
  const lost = { name: 'wiki', state: 'lost', error: 'connect ECONNREFUSED', dueAt: now };
  await addMcpServers(
    rig,
    { ...lost, failedTries: 1, changedAt: ago('5 seconds') },
    { name: 'notes', state: 'connected' },
  );
  expect(await troubles(), 'one try has failed').toEqual([]);
  const named = ['mcp_lost wiki 1'];
  await changeMcpServers(rig, { name: 'wiki' }, { failedTries: 2 });
  expect(await troubles()).toEqual(named);
  await changeMcpServers(rig, { name: 'wiki' }, { failedTries: 0, changedAt: ago('31 seconds') });
  expect(await troubles(), 'an earlier version counts no tries').toEqual(named);
  const [fact] = (await readServiceHealth(rig.database.reads)).filter(({ kind }) => kind === 'mcp_lost');
  expect(wordsOfHealth(fact!).text).toBe(
    'The MCP server wiki cannot be used, so calls of its tools fail: connect ECONNREFUSED',
  );
  expect((await readScrapeFigures(rig.database.reads)).mcpServers).toEqual({ notes: 'connected', wiki: 'lost' });
  await changeMcpServers(rig, { name: 'wiki' }, { dueAt: ago('6 minutes') });
  expect(await troubles(), 'it is not in the configuration any more').toEqual([]);
  expect((await readScrapeFigures(rig.database.reads)).mcpServers).toEqual({ notes: 'connected' });
  await emptyTables(rig, 'mcp_servers');
});

test('an MCP server that is not in the sandbox although no one has decided so is named, with what to install', async () => {
  const cutOff = 'there is no network, because socat is not on the PATH';
  const info = (sandbox: object) => ({ state: 'connected', info: { name: 'x', sandbox } });
  await addMcpServers(
    rig,
    { name: 'inside', ...info({ isOn: true, reason: null, isDecided: false }) },
    { name: 'cut-off', ...info({ isOn: true, reason: cutOff, isDecided: false }) },
    { name: 'outside', ...info({ isOn: false, reason: 'bwrap is not on the PATH', isDecided: false }) },
    // As a version stored it that knew nothing of decisions.
    { name: 'earlier', ...info({ isOn: false, reason: 'mcp.servers.earlier.sandbox is "off"' }) },
    { name: 'decided', ...info({ isOn: false, reason: 'tools.exec.sandbox is "off"', isDecided: true }) },
  );
  const facts = (await readServiceHealth(rig.database.reads)).filter(({ kind }) => kind === 'mcp_unconfined');
  expect(facts.map((fact) => wordsOfHealth(fact)).map(({ text, fix }) => [text, fix.split('"')[1]])).toEqual([
    [
      'The MCP server cut-off does not run in the sandbox as it should: there is no network, because socat is not on the PATH',
      'apt-get install socat',
    ],
    [
      'The MCP server outside does not run in the sandbox as it should: it runs outside, because bwrap is not on the PATH',
      'apt-get install bubblewrap socat',
    ],
  ]);
  await emptyTables(rig, 'mcp_servers');
});

test('calls with an unknown outcome are named by their tool, but for those that may run twice or that a person has stopped', async () => {
  const [ended, stopped] = [newId<string>(), newId<string>()];
  const turn = { sessionId: newId<string>(), endedAt: now };
  await addTurns(rig, { ...turn, id: ended, status: 'completed' }, { ...turn, id: stopped, status: 'aborted' });
  const call = { turnId: ended, name: 'refund', status: 'unknown', unknownAt: ago('1 hour') };
  await addToolCalls(
    rig,
    { ...call, step: 1 },
    { ...call, step: 2, unknownAt: ago('2 hours') },
    { ...call, step: 3, name: 'read', isIdempotent: true },
    { ...call, step: 4, status: 'done', unknownAt: null },
    { ...call, step: 5, unknownAt: ago('31 days') },
    { ...call, turnId: stopped, step: 1 },
  );
  expect(await troubles()).toEqual(['calls_unknown refund 2']);
  const { troubles: counted } = await readScrapeFigures(rig.database.reads);
  expect(counted).toMatchObject({ calls_unknown: 2 });
  await emptyTables(rig, 'turns', 'tool_calls');
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
