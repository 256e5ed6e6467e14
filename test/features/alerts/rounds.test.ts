// Alert destinations: a problem appears and ends in the database, rounds of two schedulers look,
// and a receiver gets webhooks.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readProblems, runAlertRound } from '../../../src/features/alerts/rounds.ts';
import { readAttention } from '../../../src/features/overview/views/attention.ts';
import { claimCalls } from '../../../src/features/alerts/calls.ts';
import { changeAlertDestinations, changeAlerts, readAlerts } from '../../rows/alerts.ts';
import { addModelBlocks, removeModelBlocks } from '../../rows/pauses.ts';
import { ago, ahead, now } from '../../rows/table.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig();

/** Other tests on the same server may have open transactions, which are a problem too. */
const KINDS = ['model_blocked', 'alerts_failing'];

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

let receiver: Server;
let received: Received[] = [];
/** The statuses of the next answers, in turn; then 204. */
let statuses: number[] = [];

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      response.writeHead(statuses.shift() ?? 204).end('what the receiver says');
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  receiver.listen(0, '127.0.0.1', resolve);
  await promise;
});
afterAll(() => void receiver.close());
beforeEach(async () => {
  received = [];
  statuses = [];
  const { rig } = holder;
  await removeModelBlocks(rig);
  for (const { id } of (await rig.get('/v1/alert-destinations')).body.items)
    await rig.ask('DELETE', `/v1/alert-destinations/${id}`);
});

const url = (): string => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook/secret-path`;

async function addDestination(more: object = {}) {
  const { status, body } = await holder.rig.post('/v1/alert-destinations', {
    name: 'ops',
    url: url(),
    kinds: KINDS,
    ...more,
  });
  expect(status).toBe(201);
  return body as { id: string; secret: string };
}

async function round(): Promise<void> {
  const { service, logger } = holder.rig.context;
  await runAlertRound({ service, logger }, new AbortController().signal);
}

/** Has the next call given up: all its attempts are refused. */
async function giveUp(): Promise<void> {
  statuses = Array.from({ length: 5 }, () => 404);
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    await round();
    await passTime();
  }
}

/** Makes all that waits for a time due. */
const passTime = (): Promise<unknown> => changeAlertDestinations(holder.rig, {}, { dueAt: now });

const block = (model: string): Promise<unknown> =>
  addModelBlocks(holder.rig, { account: 'account', model, until: ahead('1 hour') });

test('a problem is sent once when it begins and once when it ends, signed with the secret that only the creation shows', async () => {
  const { rig } = holder;
  const { id, secret } = await addDestination();
  await round();
  expect(received).toEqual([]);

  await block('anthropic/claude-a');
  await block('anthropic/claude-b');
  await Promise.all([round(), round()]);
  await round();
  expect(received).toHaveLength(1);
  const [first] = received;
  const call = new Webhook(secret).verify(first!.body, first!.headers as Record<string, string>) as any; // oxlint-disable-line typescript/no-explicit-any
  expect(call).toMatchObject({
    type: 'alert',
    isTest: false,
    deliveryId: first!.headers['webhook-id'],
    ended: [],
    moreCount: 0,
  });
  expect(call.problems.map(({ kind }: { kind: string }) => kind)).toEqual(['model_blocked', 'model_blocked']);
  expect(call.text).toContain('anthropic/claude-a');

  // Within two minutes it comes and goes.
  await removeModelBlocks(rig);
  await round();
  await block('anthropic/claude-a');
  await round();
  await removeModelBlocks(rig);
  await round();
  expect(received).toHaveLength(1);
  await changeAlerts(rig, {}, { endedAt: ago('2 minutes') });
  await round();
  await round();
  expect(received).toHaveLength(2);
  const ended = JSON.parse(received[1]!.body);
  expect(ended.problems).toEqual([]);
  expect(ended.ended.map((one: { id: string }) => one.id).toSorted()).toEqual(
    call.problems.map((one: { id: string }) => one.id).toSorted(),
  );

  // Its end was sent, so it begins again; when it lasts for the time of a repetition, it is sent
  // again.
  await block('anthropic/claude-a');
  await round();
  await round();
  expect(received).toHaveLength(3);
  await changeAlerts(rig, {}, { alertedAt: ago('4 hours') });
  await round();
  expect(received).toHaveLength(4);

  const [listed] = (await rig.get('/v1/alert-destinations')).body.items;
  expect(listed).toMatchObject({ id, lastStatus: 204, lastError: null, failingSince: null, isSending: false });
  expect(JSON.stringify(listed)).not.toMatch(/secret|whsec/);
});

test('what an operator has acknowledged, and what the destination does not ask for, is not sent', async () => {
  const { rig } = holder;
  await addDestination();
  await addDestination({ name: 'errors', severity: 'error' });
  await addDestination({ name: 'workers', kinds: ['no_worker'] });
  await block('anthropic/claude-a');
  const [problem] = (await rig.get('/v1/attention')).body.items;
  await rig.post(`/v1/attention/${problem.id}/acknowledge`);
  await round();
  expect(received).toEqual([]);
  await rig.post(`/v1/attention/${problem.id}/snooze`, { seconds: 0 });
  await round();
  expect(received).toHaveLength(1);
});

test('a call whose sender crashed is sent again with the same id when its lease is over, and an acknowledged one is not (G21)', async () => {
  const { rig } = holder;
  const { database } = rig.context.service;
  await addDestination();
  await block('anthropic/claude-a');
  // A process that crashes after it has claimed the call.
  const reading = (await readProblems(rig.context.service))!;
  const {
    claimed: [claimed],
  } = await claimCalls(database, reading, { leaseMs: 60_000, outbox: null });
  await round();
  expect(received).toEqual([]);
  await passTime();
  await round();
  await passTime();
  await round();
  expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([claimed!.callId]);
});

test('what a process has read before another one sent a call says nothing about its problems', async () => {
  const { rig } = holder;
  const { service } = rig.context;
  await addDestination({ kinds: ['model_blocked'] });
  const before = (await readProblems(service))!;
  await block('anthropic/claude-a');
  await round();
  expect(received).toHaveLength(1);
  expect(await claimCalls(service.database, before, { leaseMs: 60_000, outbox: null })).toEqual({ claimed: [] });
  expect(await readAlerts(rig, {}, 'endedAt')).toEqual([{ endedAt: null }]);

  const during = (await readProblems(service))!;
  await removeModelBlocks(rig);
  await round();
  await changeAlerts(rig, {}, { endedAt: ago('2 minutes') });
  await round();
  expect(received).toHaveLength(2);
  expect(await claimCalls(service.database, during, { leaseMs: 60_000, outbox: null })).toEqual({ claimed: [] });
});

test('a destination that fails is seen: it is retried with the same id, then rests, and is then sent all that is open', async () => {
  const { rig } = holder;
  await addDestination();
  await block('anthropic/claude-a');
  statuses = [404, 503, 301, 401, 503];
  await round();
  const [listed] = (await rig.get('/v1/alert-destinations')).body.items;
  expect(listed).toMatchObject({ lastStatus: 404, lastError: 'HTTP 404', isSending: true, restsUntil: null });
  expect(listed.failingSince).not.toBeNull();
  const kinds = (await readAttention(rig.context.reads)).map(({ kind, name }) => `${kind} ${name}`);
  expect(kinds).toContain('alerts_failing ops');
  await round();
  expect(received).toHaveLength(1);
  for (let attempt = 2; attempt <= 5; attempt += 1) {
    await passTime();
    await round();
  }
  await round();
  expect(received).toHaveLength(5);
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  const [resting] = (await rig.get('/v1/alert-destinations')).body.items;
  expect(resting.isSending).toBe(false);
  expect(Date.parse(resting.restsUntil) - Date.parse(resting.triedAt)).toBeGreaterThan(3_500_000);
  await passTime();
  await round();
  const last = JSON.parse(received[5]!.body);
  expect(last.problems.map(({ kind }: { kind: string }) => kind)).toContain('model_blocked');
  expect((await rig.get('/v1/alert-destinations')).body.items[0]).toMatchObject({
    lastStatus: 204,
    failingSince: null,
    restsUntil: null,
  });
});

test('a call that is given up leaves what was acknowledged before: the next one says what it said, and what has ended since', async () => {
  const { rig } = holder;
  await addDestination({ kinds: ['model_blocked'] });
  const texts = (list: { text: string }[]): string[] => list.map(({ text }) => /claude-\w/.exec(text)![0]);
  await block('anthropic/claude-a');
  await round();
  // The second begins, and its call is given up; then the first ends, and that call is given up,
  // too.
  await block('anthropic/claude-b');
  await giveUp();
  await removeModelBlocks(rig, { model: 'anthropic/claude-a' });
  await round();
  await changeAlerts(rig, {}, { endedAt: ago('2 minutes') });
  await giveUp();
  await round();
  const calls = new Map(received.map(({ headers, body }) => [headers['webhook-id'], JSON.parse(body)]));
  expect(Array.from(calls.values(), ({ problems, ended }) => [texts(problems), texts(ended)])).toEqual([
    [['claude-a'], []],
    [['claude-b'], []],
    [['claude-b'], []],
    [[], ['claude-a']],
    [[], ['claude-a']],
  ]);
});

test('a test is sent at once and answers what the destination says; a change of the URL is used', async () => {
  const { rig } = holder;
  const { id, secret } = await addDestination();
  const sendTest = async () => (await rig.post(`/v1/alert-destinations/${id}/test`)).body;
  expect(await sendTest()).toEqual({ isAcknowledged: true, status: 204, error: null });
  const [first] = received;
  expect(new Webhook(secret).verify(first!.body, first!.headers as Record<string, string>)).toMatchObject({
    isTest: true,
  });
  statuses = [400];
  expect(await sendTest()).toEqual({ isAcknowledged: false, status: 400, error: 'HTTP 400: what the receiver says' });
  expect((await rig.get('/v1/alert-destinations')).body.items[0]).toMatchObject({ lastError: 'HTTP 400' });
  const changed = await rig.ask('PATCH', `/v1/alert-destinations/${id}`, { payload: { url: 'http://127.0.0.1:9/x' } });
  expect(changed.body).toMatchObject({ url: 'http://127.0.0.1:9/…' });
  expect(await sendTest()).toMatchObject({
    isAcknowledged: false,
    status: null,
    error: expect.stringMatching(/ECONNREFUSED/),
  });
  await rig.ask('PATCH', `/v1/alert-destinations/${id}`, { payload: { url: 'http://10.0.0.1/x' } });
  expect((await sendTest()).error).toMatch(/10\.0\.0\.1 is not on the public internet/);
});

test('a name is unique, and a kind that does not exist is refused by its name', async () => {
  const { rig } = holder;
  await addDestination();
  expect((await rig.post('/v1/alert-destinations', { name: 'ops', url: url() })).status).toBe(409);
  const wrong = await rig.post('/v1/alert-destinations', { name: 'x', url: url(), kinds: ['no_wrker'] });
  expect(wrong).toMatchObject({ status: 400, body: { code: 'invalid_body', errors: [{ path: 'kinds[0]' }] } });
});
