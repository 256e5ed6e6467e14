import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { changeCrons } from '../../rows/crons.ts';
import { readDeliveries } from '../../rows/deliveries.ts';
import { readInputs } from '../../rows/inputs.ts';
import { having } from '../../rows/table.ts';
import { schedulerParts, fireAll, settleAll } from './cron-rig.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig();

const daily = {
  name: 'daily',
  schedule: { kind: 'cron', expr: '0 9 * * 1-5', tz: 'Europe/Berlin' },
  payload: { kind: 'agentTurn', message: 'Report.' },
};

async function make(body: object, headers: Record<string, string> = {}) {
  const made = await holder.rig.post('/v1/crons', body, headers);
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body;
}

async function firesOf(id: string) {
  return (await holder.rig.get(`/v1/crons/${id}/fires`)).body.items;
}

describe('a cron', () => {
  test('is created with defaults for all omitted fields', async () => {
    const cron = await make(daily);
    expect(cron).toMatchObject({
      ...daily,
      agentId: 'main',
      origin: 'api',
      target: 'isolated',
      wake: 'now',
      misfire: null,
      delivery: null,
      enabled: true,
      failures: 0,
      disabledReason: null,
      lastSlotAt: null,
    });
    expect(new Date(cron.nextSlotAt).getTime()).toBeGreaterThan(Date.now());
    expect(cron.nextRunAt).toBe(cron.nextSlotAt);
    const event = await make({
      schedule: { kind: 'every', everyMs: 60_000 },
      payload: { kind: 'systemEvent', text: 'x' },
    });
    expect(event).toMatchObject({
      name: 'cron',
      target: 'main',
      schedule: { kind: 'every', anchor: expect.any(String) },
    });
    expect((await holder.rig.get(`/v1/crons/${cron.id}`)).body).toEqual(cron);
  });

  test('gives its turns the tools that it names, until a change removes the list', async () => {
    const tools = { allow: ['read', 'sessions_*'], deny: ['sessions_send'] };
    const cron = await make({ ...daily, tools });
    expect(cron.tools).toEqual(tools);
    const run = await holder.rig.post(`/v1/crons/${cron.id}/run`, {});
    expect(run.status).toBe(202);
    const inputs = await readInputs(holder.rig, { body: having({ cronId: cron.id }) }, 'options');
    expect(inputs).toEqual([{ options: { tools } }]);
    await holder.rig.work(`agent:main:cron:${cron.id}`);
    const changed = await holder.rig.ask('PATCH', `/v1/crons/${cron.id}`, { payload: { name: 'other' } });
    expect(changed.body.tools).toEqual(tools);
    const removed = await holder.rig.ask('PATCH', `/v1/crons/${cron.id}`, { payload: { tools: null } });
    expect(removed.body.tools).toBeNull();
  });

  test('is created once for an Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'make-1' };
    const [one, other] = await Promise.all([make(daily, key), make(daily, key)]);
    expect(one.id).toBe(other.id);
    const mismatch = await holder.rig.post('/v1/crons', { ...daily, name: 'other' }, key);
    expect(mismatch).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
  });

  test.each([
    [{ schedule: { kind: 'cron', expr: '61 * * * *' } }, 'schedule.expr'],
    [{ schedule: { kind: 'cron', expr: '0 0 30 2 *' } }, 'schedule.expr'],
    [{ schedule: { kind: 'cron', expr: '* * * * *', tz: 'Mars/Olympus' } }, 'schedule.tz'],
    [{ schedule: { kind: 'every', everyMs: 10 } }, 'schedule.everyMs'],
    [{ schedule: { kind: 'at', at: 'tomorrow' } }, 'schedule.at'],
    [{ schedule: { kind: 'sometimes' } }, 'schedule.kind'],
    [{ target: 'nowhere' }, 'target'],
    [{ target: 'session:with blank' }, 'target'],
    [{ payload: { kind: 'agentTurn', message: ' ' } }, 'payload.message'],
    [{ agentId: 'nobody' }, 'agentId'],
    [{ delivery: { mode: 'webhook', url: 'ftp://x' } }, 'delivery.url'],
    [{ delivery: { mode: 'webhook', url: 'https://u:p@example.org/x' } }, 'delivery.url'],
    [{ misfire: 'maybe' }, 'misfire'],
    [{ surprise: true }, 'surprise'],
    [{ target: 'isolated', payload: { kind: 'systemEvent', text: 'x' }, wake: 'next-heartbeat' }, 'wake'],
  ])('that is invalid is refused: %o', async (change, path) => {
    const refused = await holder.rig.post('/v1/crons', { ...daily, ...change });
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_body' } });
    expect(refused.body.errors.map((error: { path: string }) => error.path)).toContain(path);
  });

  test('is changed, paused, resumed and deleted', async () => {
    const { rig } = holder;
    const cron = await make(daily);
    const patch = (payload: object) => rig.ask('PATCH', `/v1/crons/${cron.id}`, { payload });
    const renamed = await patch({ name: 'other', misfire: 'skip', delivery: { url: 'https://example.org/x' } });
    expect(renamed).toMatchObject({
      status: 200,
      body: { name: 'other', misfire: 'skip', nextSlotAt: cron.nextSlotAt },
    });
    expect(renamed.body.delivery).toEqual({ mode: 'webhook', url: 'https://example.org/x' });
    expect((await patch({ enabled: false })).body).toMatchObject({ enabled: false, nextSlotAt: null });
    expect((await patch({ enabled: true })).body).toMatchObject({ enabled: true, nextSlotAt: cron.nextSlotAt });
    const moved = await patch({ schedule: { kind: 'at', at: '2035-01-01T10:00:00+02:00' } });
    expect(moved.body).toMatchObject({
      schedule: { at: '2035-01-01T08:00:00.000Z' },
      nextSlotAt: '2035-01-01T08:00:00.000Z',
    });
    expect((await patch({ schedule: { kind: 'cron', expr: 'x' } })).status).toBe(400);
    expect((await rig.ask('DELETE', `/v1/crons/${cron.id}`)).body).toEqual({ deleted: true });
    expect((await rig.get(`/v1/crons/${cron.id}`)).status).toBe(404);
    expect((await patch({ name: 'x' })).status).toBe(404);
  });

  test('shows its next slots, and reading it moves none (G20)', async () => {
    const { rig } = holder;
    const cron = await make({ ...daily, schedule: { kind: 'cron', expr: '30 2 * * *', tz: 'America/New_York' } });
    const next = await rig.get(`/v1/crons/${cron.id}/next?count=400`);
    expect(next.body.items).toHaveLength(400);
    expect(next.body.items[0]).toMatchObject({ slotAt: cron.nextSlotAt, runAt: cron.nextRunAt });
    const changes = next.body.items.flatMap(({ clockChange }: { clockChange: object | null }) => clockChange ?? []);
    expect(changes.length).toBeGreaterThanOrEqual(2);
    expect(changes).toContainEqual({
      changedAt: expect.any(String),
      offsetMinutesBefore: -300,
      offsetMinutesAfter: -240,
    });
    const days = new Set(next.body.items.map(({ slotAt }: { slotAt: string }) => slotAt.slice(0, 10)));
    expect(days.size).toBe(400);
    await rig.get('/v1/crons');
    expect((await rig.get(`/v1/crons/${cron.id}`)).body).toEqual(cron);
  });

  test('has a summary: next slots, last fires with costs, and the cost of a month', async () => {
    const { rig } = holder;
    const priced = '[[usage: input=1000 output=200 cache-read=0 cache-write=0]] [[reply: ok]]';
    const cron = await make({ ...daily, payload: { kind: 'agentTurn', message: priced } });
    const paused = await make({ ...daily, enabled: false });
    await rig.post(`/v1/crons/${cron.id}/run`);
    await rig.work(`agent:main:cron:${cron.id}`);
    await changeCrons(rig, { id: cron.id }, { notBefore: new Date(Date.parse(cron.nextSlotAt) - 1_000) });
    const { body } = await rig.get(`/v1/crons/summaries?ids=${cron.id},${paused.id},${newId()}`);
    const cost = { costUsd: 0.004, costMicros: 4000 };
    expect(body.items).toMatchObject([
      {
        cronId: paused.id,
        restsUntil: null,
        slots: [],
        fires: [],
        lastCost: { costMicros: null },
        month: { slotCount: 0 },
      },
      {
        cronId: cron.id,
        restsUntil: expect.any(String),
        fires: [{ status: 'completed', isManual: true, ...cost }],
        lastCost: cost,
      },
    ]);
    const [, { slots, month }] = body.items;
    expect(slots).toHaveLength(3);
    expect(slots[0]).toMatchObject({ slotAt: cron.nextSlotAt });
    expect(month.slotCount).toBeGreaterThanOrEqual(20);
    expect(month.costMicros).toBe(month.slotCount * 4000);
    expect((await rig.get('/v1/crons/summaries')).status).toBe(400);
  });

  test('the next run of a cron that rests after a failure is its first slot after the rest', async () => {
    const { rig } = holder;
    const hourly = { kind: 'every', everyMs: 3_600_000, anchor: '2026-01-01T00:00:00Z' };
    const cron = await make({ name: 'resting', schedule: hourly, payload: { kind: 'agentTurn', message: 'x' } });
    const restMs = Date.parse(cron.nextSlotAt) + 5_400_000;
    await changeCrons(rig, { id: cron.id }, { notBefore: new Date(restMs) });
    const first = new Date(Date.parse(cron.nextSlotAt) + 2 * 3_600_000).toISOString();
    const { nextSlotAt, nextRunAt } = (await rig.get(`/v1/crons/${cron.id}`)).body;
    expect(nextSlotAt).toBe(first);
    expect(Date.parse(nextRunAt)).toBeGreaterThanOrEqual(Date.parse(first));
    expect((await rig.get(`/v1/crons/${cron.id}/next?count=1`)).body.items).toMatchObject([
      { slotAt: first, runAt: nextRunAt },
    ]);
    expect((await rig.get(`/v1/crons/summaries?ids=${cron.id}`)).body.items[0].slots[0]).toMatchObject({
      slotAt: first,
    });
  });

  test('is listed with the others of its agent, page by page', async () => {
    const { rig } = holder;
    for (let n = 1; n <= 5; n += 1) await make(daily);
    const all = (await rig.get('/v1/crons?limit=200&agent=main')).body.items;
    const first = (await rig.get('/v1/crons?limit=2')).body;
    const second = (await rig.get(`/v1/crons?limit=2&cursor=${first.nextCursor}`)).body;
    expect([...first.items, ...second.items]).toEqual(all.slice(0, 4));
    expect((await rig.get('/v1/crons?agent=nobody')).body.items).toEqual([]);
    expect(
      (await rig.get('/v1/crons?enabled=false')).body.items.every((cron: { enabled: boolean }) => !cron.enabled),
    ).toBe(true);
  });
});

describe('a run', () => {
  test('on request is a fire that does not change the schedule', async () => {
    const { rig } = holder;
    const cron = await make({
      ...daily,
      payload: { kind: 'agentTurn', message: 'Now. [[reply: Done.]]', model: 'anthropic/other' },
    });
    const run = await rig.post(`/v1/crons/${cron.id}/run`, {}, { 'idempotency-key': 'run-1' });
    expect(run).toMatchObject({ status: 202, body: { status: 'claimed', isManual: true, turnId: null } });
    const replayed = await rig.post(`/v1/crons/${cron.id}/run`, {}, { 'idempotency-key': 'run-1' });
    expect(replayed.body).toEqual(run.body);
    expect(await rig.work(`agent:main:cron:${cron.id}`)).toMatchObject({ kind: 'ended' });
    const [fire] = await firesOf(cron.id);
    expect(fire).toMatchObject({
      status: 'completed',
      turnId: expect.any(String),
      scheduledFor: run.body.scheduledFor,
    });
    const turn = (await rig.get(`/v1/turns/${fire.turnId}`)).body;
    expect(turn).toMatchObject({ kind: 'cron', lane: 'cron', reply: 'Done.', model: 'other' });
    expect((await rig.get(`/v1/crons/${cron.id}`)).body).toEqual(cron);
    expect((await rig.post('/v1/crons/0198f000-0000-7000-8000-000000000000/run')).status).toBe(404);
  });

  test('of an isolated session begins with an empty transcript; the earlier ones stay', async () => {
    const { rig } = holder;
    const cron = await make({ ...daily, payload: { kind: 'agentTurn', message: 'Again. [[reply: Yes.]]' } });
    const session = `agent:main:cron:${cron.id}`;
    for (let n = 1; n <= 3; n += 1) {
      await rig.post(`/v1/crons/${cron.id}/run`);
      await rig.work(session);
    }
    const transcript = (await rig.get(`/v1/sessions/${session}/transcript`)).body.items;
    expect(transcript.map(({ kind }: { kind: string }) => kind)).toEqual(['prompt', 'answer']);
    expect(transcript[0].content[0].text).toBe(`[cron:${cron.id} daily] Again. [[reply: Yes.]]`);
    const first = await rig.get(`/v1/sessions/${session}/transcript?transcript=1&state=all`);
    expect(first.body.items).toHaveLength(2);
    const request = rig.turns.scripted.requests.at(-1);
    expect(JSON.stringify(request?.body).match(/Again\./g)).toHaveLength(1);
  });

  test('with its own deadline ends at the deadline', async () => {
    const { rig } = holder;
    const cron = await make({
      ...daily,
      payload: { kind: 'agentTurn', message: 'Slow. [[delay: 600000]]', timeoutSeconds: 1 },
    });
    await rig.post(`/v1/crons/${cron.id}/run`);
    await rig.work(`agent:main:cron:${cron.id}`);
    const [fire] = await firesOf(cron.id);
    expect(fire.status).toBe('failed');
    expect((await rig.get(`/v1/turns/${fire.turnId}`)).body).toMatchObject({ status: 'timedOut' });
  });
});

describe('a tick', () => {
  test('of an event wakes the main session, is one line of one prompt, and its redundant poll calls no model (G14)', async () => {
    const { rig } = holder;
    const parts = schedulerParts(rig.turns.database);
    const at = new Date(Date.now() - 1000).toISOString();
    const cron = await make({
      schedule: { kind: 'at', at },
      payload: { kind: 'systemEvent', text: 'The tea is ready.' },
    });
    await fireAll(parts);
    expect((await rig.get('/v1/sessions/main/system-events')).body.items).toEqual([
      expect.objectContaining({ text: 'The tea is ready.', contextKey: `cron:${cron.id}` }),
    ]);
    await rig.work('main');
    const requests = rig.turns.scripted.requests.length;
    const prompt = (await rig.get('/v1/sessions/main/transcript')).body.items[0].content[0].text;
    expect(prompt).toMatch(/^System: \[[^\]]+\] The tea is ready\.\n\nA reminder that was scheduled is due\./);
    expect((await firesOf(cron.id))[0].status).toBe('completed');

    const second = await make({
      schedule: { kind: 'at', at },
      target: 'session:talk',
      payload: { kind: 'systemEvent', text: 'The bath is full.' },
    });
    // A message arrives first: its prompt has the line, and the poll has nothing left to report.
    await rig.post('/v1/sessions/talk/messages', { text: 'Hello [[reply: Hi.]]' });
    await fireAll(parts);
    await rig.work('talk');
    await rig.work('talk');
    expect(rig.turns.scripted.requests).toHaveLength(requests + 1);
    expect((await firesOf(second.id))[0].status).toBe('completed');
    await settleAll(parts);
    expect(await readInputs(rig, { status: 'waiting' }, 'status')).toEqual([]);
  });

  test('is delivered to the address of its cron', async () => {
    const { rig } = holder;
    const run = async (delivery: object | null): Promise<Record<string, unknown>[]> => {
      const cron = await make({ ...daily, delivery, payload: { kind: 'agentTurn', message: 'Go. [[reply: Gone.]]' } });
      await rig.post(`/v1/crons/${cron.id}/run`);
      await rig.work(`agent:main:cron:${cron.id}`);
      return readDeliveries(rig, { sessionKey: `agent:main:cron:${cron.id}` }, 'target');
    };
    expect(await run({ url: 'http://127.0.0.1:9/hook' })).toEqual([{ target: { url: 'http://127.0.0.1:9/hook' } }]);
    expect(await run({ mode: 'none' })).toEqual([]);
    expect(await run(null)).toEqual([]);
    await rig.post('/v1/sessions/main/messages', { text: 'x', deliver: { url: 'http://127.0.0.1:9/last' } });
    expect(await run({ mode: 'last' })).toEqual([{ target: { url: 'http://127.0.0.1:9/last' } }]);
  });
});
