import { beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { addToolCalls } from '../rows/calls.ts';
import { changeDoorbells } from '../rows/doorbells.ts';
import { addMcpServers } from '../rows/mcp-servers.ts';
import { addProviderBatches } from '../rows/provider-batches.ts';
import { ago, now } from '../rows/table.ts';
import { emptyTables } from '../rows/whole-tables.ts';
import { addWorkers } from '../rows/workers.ts';
import { useApiRig } from './use-api-rig.ts';

let isQueueUp: boolean;
beforeEach(() => {
  isQueueUp = true;
});

const holder = useApiRig({
  dependencies: [
    {
      name: 'queue',
      async check() {
        if (!isQueueUp)
          throw Object.assign(new Error('connect to redis://:secret-pw@host failed'), { code: 'ECONNREFUSED' });
      },
    },
  ],
});

describe('readyz', () => {
  test('names each dependency with its time, and the model that answers', async () => {
    const answer = await holder.rig.get('/readyz');
    expect(answer).toMatchObject({
      status: 200,
      body: {
        // Tests on the same server may have open transactions.
        status: answer.body.troubles.includes('events_held') ? 'degraded' : 'ready',
        dependencies: [
          { name: 'database', status: 'ok', error: null },
          { name: 'queue', status: 'ok', error: null },
        ],
        model: { isScripted: true },
        version: '0.0.0',
        environment: null,
      },
    });
  });

  test('notes what needs a person by kind and count: names of servers and tools need a key (G32)', async () => {
    const { rig } = holder;
    const lost = { state: 'lost', error: 'ECONNREFUSED', failedTries: 2, dueAt: now };
    await addMcpServers(rig, { ...lost, name: 'crm-prod' }, { ...lost, name: 'payroll' });
    const turnId = newId<string>();
    const unknown = { turnId, name: 'pay_invoice', status: 'unknown', unknownAt: now };
    await addToolCalls(rig, { ...unknown, step: 1 }, { ...unknown, step: 2 }, { ...unknown, step: 3, name: 'refund' });
    expect((await rig.get('/readyz')).body.notes).toEqual([
      '2 MCP servers cannot be used; GET /v1/attention says what to do',
      '3 calls have an unknown outcome; GET /v1/attention says what to do',
    ]);
    await emptyTables(rig, 'mcp_servers', 'tool_calls');
  });

  test('notes processes whose commands run outside a sandbox, lack something in it or wait for its check, and GET /v1/sandbox says why (G42)', async () => {
    const { rig } = holder;
    const state = { runtime: 'bubblewrap', checkedAt: '2026-11-27T08:00:00.000Z' };
    const reason = 'bwrap is not on the PATH';
    await addWorkers(rig, { name: 'boxed', seenAt: now, sandbox: { ...state, status: 'on', reason: null } });
    expect((await rig.get('/readyz')).body.notes).toEqual([]);
    await addWorkers(rig, { name: 'open', seenAt: now, sandbox: { ...state, status: 'off', reason } });
    const lack = 'there is no network, because socat is not on the PATH';
    await addWorkers(rig, { name: 'reduced', seenAt: now, sandbox: { ...state, status: 'reduced', reason: lack } });
    const first = { runtime: 'bubblewrap', checkedAt: null, status: 'unknown', reason: 'no canary has been sent yet' };
    await addWorkers(rig, { name: 'starting', seenAt: now, sandbox: first });
    await addWorkers(rig, { name: 'gone', seenAt: ago('1 hour'), sandbox: { ...state, status: 'off', reason } });
    const { body } = await rig.get('/readyz');
    // It works all the same, and everyone may read this: no reason, which may name paths.
    expect(body.notes).toEqual([
      '1 processes run commands outside a sandbox; GET /v1/sandbox says why',
      '1 processes do not know yet whether their commands run in a sandbox, and run none before; GET /v1/sandbox says why',
      '1 processes run commands in a sandbox where these lack something; GET /v1/sandbox says why',
    ]);
    expect(await rig.get('/v1/sandbox')).toMatchObject({
      status: 200,
      body: {
        mode: 'auto',
        runtime: 'bubblewrap',
        network: [],
        limits: { processes: 512 },
        items: [
          { name: 'boxed', status: 'on', reason: null },
          { name: 'open', status: 'off', reason, checkedAt: state.checkedAt },
          { name: 'reduced', status: 'reduced', reason: lack },
          { name: 'starting', status: 'unknown', reason: first.reason, checkedAt: null },
        ],
      },
    });
  });

  test('is 503 when one is missing, and gives only its code (G31)', async () => {
    isQueueUp = false;
    const answer = await holder.rig.get('/readyz');
    expect(answer).toMatchObject({ status: 503, body: { status: 'unavailable' } });
    expect(answer.body.dependencies[1]).toMatchObject({ name: 'queue', status: 'failed', error: 'ECONNREFUSED' });
    expect(JSON.stringify(answer.body)).not.toContain('secret-pw');
  });
});

describe('stats', () => {
  test('count the rows', async () => {
    const { rig } = holder;
    await rig.settle('a', '[[reply: x]]');
    await rig.post('/v1/sessions/a/messages', { text: 'one' });
    await rig.post('/v1/sessions/b/messages', { text: 'two' });
    const stats = (await rig.get('/v1/stats')).body;
    expect(stats).toMatchObject({
      sessions: 2,
      messages: { answered: 1, waiting: 2 },
      turns: { completed: 1 },
      liveLocks: 0,
      queueDepth: { main: 2, subagent: 0, cron: 0, batch: 0 },
      deadLetters: 0,
      attention: { errors: 0 },
    });
    expect(stats.oldestWaitMs).toBeGreaterThanOrEqual(0);
  });
});

describe('metrics', () => {
  test('have requests by route of the table, and the figures of the database', async () => {
    const { rig } = holder;
    await rig.get('/v1/messages/01a200b2-af01-73e8-8681-83b97fe6f9f3');
    await rig.post('/v1/sessions/c/messages', { text: 'three' });
    const { messages, queueDepth } = (await rig.get('/v1/stats')).body;
    expect(messages.waiting).toBeGreaterThan(0);
    expect(queueDepth.main).toBeGreaterThan(0);
    const text = (await rig.get('/metrics')).body as string;
    expect(text).toContain('holdfast_http_requests_total{method="GET",route="/v1/messages/:id",status="404"} 1');
    expect(text).toContain(`holdfast_messages{status="waiting"} ${messages.waiting}\n`);
    expect(text).toContain(`holdfast_queue_depth{lane="main"} ${queueDepth.main}\n`);
    expect(text).toContain('holdfast_database_up 1');
    expect(text).not.toContain('01a200b2');
  });

  test('have calls without a price by model, and the batches that have not ended', async () => {
    const { rig } = holder;
    await rig.settle('dear', '[[reply: yes]]', { model: 'anthropic/mystery-1' });
    await rig.post('/v1/batches', { items: [{ text: 'one' }, { text: 'two' }] });
    await addProviderBatches(rig, {}, { status: 'read' });
    const text = (await rig.get('/metrics')).body as string;
    expect(text).toContain('# TYPE holdfast_model_calls_unpriced_total counter\n');
    for (const line of [
      'holdfast_model_calls_unpriced_total{model="anthropic/mystery-1"} 1',
      'holdfast_batches{status="running"} 1',
      'holdfast_batch_items{status="pending"} 2',
      'holdfast_batch_items{status="answered"} 0',
      'holdfast_provider_batches{status="submitted"} 1',
    ])
      expect(text).toContain(`${line}\n`);
    expect(text).toMatch(/^holdfast_batch_oldest_seconds [0-9.e-]+$/m);
    expect(text).not.toContain('holdfast_provider_batches{status="read"}');
    // A second scrape counts nothing twice.
    expect((await rig.get('/metrics')).body).toContain(
      'holdfast_model_calls_unpriced_total{model="anthropic/mystery-1"} 1\n',
    );
  });
});

test('readyz is degraded when no process does the pending work, and names none (G31)', async () => {
  const { rig } = holder;
  await rig.post('/v1/sessions/unserved/messages', { text: 'hello' });
  await changeDoorbells(rig, {}, { dueAt: ago('1 minute') });
  const answer = await rig.get('/readyz');
  expect(answer).toMatchObject({ status: 200, body: { status: 'degraded' } });
  expect(answer.body.troubles).toContain('no_worker');
  await rig.work('unserved');
});
