// Goal: the log of a process says what happened, with ids and without content. Method: an API and a
// worker with a scheduler go through success and failures; then the lines that they wrote are read.
import { expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { changeCrons } from '../rows/crons.ts';
import { changeDeliveries } from '../rows/deliveries.ts';
import { earlier, now } from '../rows/table.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { openServiceRig, type ServiceRig } from './rig/service-rig.ts';
import { startReceiver } from './rig/webhook-receiver.ts';

const soonMs = 240_000;
const content = 'canary-of-the-content';

type Line = Record<string, unknown>;

let rig: ServiceRig;
let api: ServiceApi;

shareAmongTests(async (onEnd) => {
  const opened = await openServiceRig({
    queue: 'postgres',
    config: { channels: { webhook: { maxAttempts: 1, timeoutMs: 2_000 } } },
    env: { HOLDFAST_LOG_LEVEL: 'debug' },
  });
  onEnd(() => opened.close());
  rig = opened;
  const [front] = await Promise.all([opened.start('api'), opened.start('worker,scheduler')]);
  api = opened.apiOf(front);
});

function linesWith(message: string, facts: Line = {}): Line[] {
  const lines = rig.logs.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line);
  return lines.filter(
    (line) => line['msg'] === message && Object.entries(facts).every(([name, value]) => line[name] === value),
  );
}

function lineWith(message: string, facts: Line = {}): Promise<Line> {
  return waitUntil(`the line "${message}"`, soonMs, () => linesWith(message, facts)[0] ?? null);
}

async function settle(session: string, message: object) {
  return api.settled(await api.send(session, message));
}

test('a turn that ends is one line with its figures', async () => {
  const text = `${content} [[tool: exec {"command": "true"}]] [[reply: ${content}]]`;
  const { turnId } = await settle('figures', { text, tags: { customer: '42' } });
  expect(await lineWith('Turn ended', { turnId })).toMatchObject({
    level: 30,
    sessionKey: 'agent:main:figures',
    agentId: 'main',
    kind: 'message',
    lane: 'main',
    status: 'completed',
    attempt: 1,
    tags: { customer: '42' },
    modelCalls: 2,
    toolCalls: 1,
    waitedMs: expect.any(Number),
    ranMs: expect.any(Number),
    inputTokens: expect.any(Number),
  });
  expect(linesWith('Turn ended', { turnId })).toHaveLength(1);
});

test('at the level debug, a turn has a line for its start, each tool call and each attempt of a delivery', async ({
  onTestFinished,
}) => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const calls = '[[tool: exec {"command": "true"}]] [[tool: read {"path": "missing"}]]';
  const sent = await settle('followed', {
    text: `${content} ${calls} [[reply: ${content}]]`,
    deliver: { url: receiver.url },
  });
  const { turnId } = sent;
  expect(await lineWith('Delivery attempted', { turnId })).toMatchObject({ level: 20, attempts: 1, status: 'sent' });
  expect(linesWith('Turn started', { turnId })).toMatchObject([
    { level: 20, sessionKey: 'agent:main:followed', kind: 'message', lane: 'main', messageIds: [sent.id] },
  ]);
  expect(linesWith('Tool call ended', { turnId })).toMatchObject([
    { level: 20, tool: 'exec', status: 'done', durationMs: expect.any(Number) },
    { level: 20, tool: 'read', status: 'failed' },
  ]);
});

test('a model call that fails is one line, and the turn that fails with it is a warning with the code', async () => {
  const { turnId } = await settle('failing', {
    text: '[[error: 529]] [[error: 400]]',
    tags: { customer: '43' },
  });
  const ended = await lineWith('Turn ended', { turnId });
  expect(ended).toMatchObject({ level: 40, status: 'failed', code: 'model_invalid_request' });
  expect(linesWith('Model call failed', { turnId })).toMatchObject([
    {
      code: 'model_overloaded',
      httpStatus: 529,
      tags: { customer: '43' },
      callId: `${turnId}:model:1`,
      durationMs: expect.any(Number),
    },
    { code: 'model_invalid_request', httpStatus: 400 },
  ]);
});

test('a delivery that failed permanently is one line', async () => {
  const { turnId } = await settle('undeliverable', {
    text: '[[reply: Hello.]]',
    deliver: { url: 'http://127.0.0.1:9/replies' },
  });
  expect(await lineWith('Delivery failed permanently', { turnId })).toMatchObject({
    code: 'delivery_failed',
    attempts: 1,
    deliveryId: expect.any(String),
  });
});

test('a delivery that expired is one line', async () => {
  const { turnId } = await settle('expired', {
    text: '[[reply: Late.]]',
    deliver: { url: 'http://127.0.0.1:9/replies' },
  });
  await lineWith('Delivery failed permanently', { turnId });
  await changeDeliveries(rig, { turnId }, { status: 'pending', settledAt: null, expiresAt: now });
  expect(await lineWith('Delivery expired', { turnId })).toMatchObject({
    level: 40,
    deliveryId: expect.any(String),
    channel: 'webhook',
    attempts: 1,
    code: 'delivery_expired',
  });
  expect(linesWith('Delivery expired', { turnId })).toHaveLength(1);
});

test('ticks that are not fired are logged in one line', async () => {
  const { body: cron } = await api.ask('POST', '/v1/crons', {
    name: 'late',
    schedule: { kind: 'every', everyMs: 3_600_000 },
    payload: { kind: 'agentTurn', message: 'Tick.' },
    misfire: 'skip',
  });
  await changeCrons(
    rig,
    { id: cron.id },
    { nextSlotAt: earlier('3 hours 30 minutes'), dueAt: earlier('3 hours 30 minutes') },
  );
  expect(await lineWith('Cron ticks not fired', { cronId: cron.id })).toMatchObject({
    level: 40,
    code: 'late',
    ticks: expect.any(Number),
    scheduledFor: expect.any(String),
  });
});

test('a refused request is one line with its code and the id of the request', async () => {
  const { status, headers } = await api.ask('GET', '/v1/turns/00000000-0000-7000-8000-000000000000');
  expect(status).toBe(404);
  const line = await lineWith('Request refused', { route: '/v1/turns/:id' });
  expect(line).toMatchObject({ status: 404, code: 'not_found', method: 'GET', requestId: expect.any(String) });
  expect(headers.get('x-request-id') ?? line['requestId']).toBe(line['requestId']);
});

test('every line has role and process, and none has content (G31)', async () => {
  await lineWith('Started');
  for (const line of rig.logs.filter((one) => one.startsWith('{'))) {
    expect(JSON.parse(line)).toMatchObject({ role: expect.any(String), process: expect.stringContaining(':') });
  }
  expect(rig.logs.join('\n')).not.toContain(content);
});
