// Goal: the overview equals the rows. Method: real turns, with the roll-up in between, and a clock
// that the test advances.
import { beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { rollUp, sampleMinute, trimUsage } from '../../../src/features/costs/store/roll-up.ts';
import { readServiceHealth } from '../../../src/features/overview/views/service-health.ts';
import { addToolCalls } from '../../rows/calls.ts';
import { addCronFires, addCrons, readCrons } from '../../rows/crons.ts';
import { addDeadLetters, removeDeadLetters } from '../../rows/dead-letters.ts';
import { addDeliveries } from '../../rows/deliveries.ts';
import { addDoorbells, removeDoorbells } from '../../rows/doorbells.ts';
import { removeEvents } from '../../rows/events.ts';
import { changeInputs } from '../../rows/inputs.ts';
import { addModelBlocks, addPauses, removeModelBlocks } from '../../rows/pauses.ts';
import { addProviderBatches } from '../../rows/provider-batches.ts';
import { changeSessions } from '../../rows/sessions.ts';
import { ago, ahead, earlier, now, type Expression } from '../../rows/table.ts';
import { addTurns, changeTurns } from '../../rows/turns.ts';
import {
  addUsageBuckets,
  changeMinuteSamples,
  changeUsageBuckets,
  countMinuteSamples,
  removeUsageBuckets,
} from '../../rows/usage.ts';
import { emptyTables } from '../../rows/whole-tables.ts';
import { addWorkers, removeWorkers } from '../../rows/workers.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

let monotonicMs = 0;
const clock = { now: () => new Date(), monotonicMs: () => monotonicMs };
const holder = useApiRig({ context: { clock } });

/** Makes the cached values expire. */
beforeEach(() => void (monotonicMs += 1_000));

async function play(session: string, text: string): Promise<void> {
  const { rig } = holder;
  await rig.settle(session, text);
}

const total = (column: number[]): number => column.reduce((sum, one) => sum + one, 0);

describe('GET /v1/overview', () => {
  test('has waiting, running, arrived and ended messages and the spending, before and after the roll-up', async () => {
    const { rig } = holder;
    await play('seen', '[[usage: input=1000 output=200 cache-read=3000 cache-write=0]] [[reply: ok]]');
    await play('seen-too', 'bad [[error: 400]]');
    const lanes = { main: { slots: 4, inUse: 0 }, cron: { slots: 2, inUse: 0 } };
    const reports = { lanes, seenAt: ahead('1 hour') };
    await addWorkers(rig, { lanes, seenAt: ago('1 minute') }, { ...reports, drainingAt: now }, reports);
    const { body } = await rig.post('/v1/sessions/waits/messages', { text: 'x' });
    const before = (await rig.get('/v1/overview')).body;
    expect(before).toMatchObject({
      waiting: { count: 1, isCapped: false, oldestAt: body.message.receivedAt },
      parked: 0,
      running: 0,
      slots: { inUse: 0, total: 6 },
      successRate: 0.5,
      cacheHitRatio: 0.75,
      budget: null,
      simulated: true,
    });
    expect(before.firstChunkP95Ms).toBeGreaterThanOrEqual(0);
    expect(before.turnP95Ms).toBeGreaterThanOrEqual(0);
    expect(before.lanes).toMatchObject([
      { lane: 'main', depth: 1, oldestAt: body.message.receivedAt, running: 0, slots: 4 },
      { lane: 'subagent', depth: 0, oldestAt: null },
      { lane: 'cron' },
      { lane: 'batch' },
    ]);
    while (await rollUp(rig.turns.database));
    monotonicMs += 1_000;
    const after = (await rig.get('/v1/overview')).body;
    for (const { points, spentTodayUsd } of [before, after]) {
      for (const column of Object.values(points)) expect(column).toHaveLength(60);
      expect(total(points.arrivals)).toBe(3);
      expect(Math.max(...points.oldestWaitMs)).toBeGreaterThan(0);
      expect(total(points.ends)).toBe(2);
      expect(total(points.failures)).toBe(1);
      expect(total(points.outputTokens)).toBe(200);
      expect(total(points.cacheReadTokens)).toBe(3000);
      expect(spentTodayUsd).toBeCloseTo(total(points.costUsd), 6);
      expect(spentTodayUsd).toBeGreaterThan(0);
      expect(Math.max(...points.turnP95Ms)).toBeGreaterThan(0);
      expect(Math.max(...points.firstChunkP95Ms)).toBeGreaterThanOrEqual(0);
      expect(points.turnP95Ms.filter((ms: number | null) => ms !== null).length).toBeLessThanOrEqual(2);
    }
  });

  test('marks the cost of today as simulated, also when the scripted model answered more than an hour ago', async () => {
    const { rig } = holder;
    const simulatedWith = async (isSimulated: boolean) => {
      await removeUsageBuckets(rig);
      const startsAt = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000);
      await addUsageBuckets(rig, { startsAt, turns: 1, calls: 1, isSimulated });
      monotonicMs += 1_000;
      return (await rig.get('/v1/overview')).body.simulated;
    };
    await removeEvents(rig);
    expect(await simulatedWith(false)).toBe(false);
    expect(await simulatedWith(true)).toBe(true);
  });

  test('has the same hour of the day before, and the models that were called', async () => {
    const { rig } = holder;
    const model = 'before/model';
    const startsAt = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 86_400_000);
    const used = { turns: 4, failedTurns: 1, calls: 2, costMicros: 3_000_000 };
    await addUsageBuckets(rig, { size: 'minute', startsAt, model, isSimulated: false, ...used });
    monotonicMs += 1_000;
    const { dayBefore, points, models } = (await rig.get('/v1/overview')).body;
    expect(dayBefore).toMatchObject({ successRate: 0.75, costUsd: 3, firstChunkP95Ms: null });
    expect(total(dayBefore.points.ends)).toBe(4);
    expect(dayBefore.points.startsAt).toHaveLength(60);
    expect(Date.parse(points.startsAt[0]) - Date.parse(dayBefore.points.startsAt[0])).toBe(86_400_000);
    expect(models.map((each: { model: string }) => each.model)).not.toContain(model);
  });

  test('has the providers, each with its state, until when, and why', async () => {
    const { rig } = holder;
    const providerNamed = async (name: string) => {
      monotonicMs += 1_000;
      const { providers } = (await rig.get('/v1/overview')).body;
      return providers.find(({ provider }: { provider: string }) => provider === name);
    };
    await play('provided', '[[reply: ok]]');
    expect(await providerNamed('anthropic')).toMatchObject({ state: 'open', until: null, text: null, inBatches: 0 });
    await addModelBlocks(rig, { account: 'x', model: 'asked/one', until: ahead('1 hour'), detail: 'Overloaded' });
    const { state, until, text, calls } = await providerNamed('asked');
    expect({ state, text, calls }).toEqual({ state: 'blocked', text: 'asked/one: Overloaded', calls: 0 });
    expect(Date.parse(until)).toBeGreaterThan(Date.now());
    await removeModelBlocks(rig);
  });

  test('has for each minute the most messages that waited and turns that ran when a scheduler looked', async () => {
    const { rig } = holder;
    const { database } = rig.turns;
    await changeInputs(rig, { status: 'waiting' }, { status: 'cancelled' });
    const unseen = (await rig.get('/v1/overview')).body.points;
    expect(unseen.waiting).toEqual([...Array.from({ length: 59 }, () => null), 0]);
    expect(unseen.running).toEqual(unseen.waiting);

    const ids: string[] = [];
    for (const name of ['a', 'b'])
      ids.push((await rig.post(`/v1/sessions/sampled-${name}/messages`, { text: 'x' })).body.message.id);
    await sampleMinute(database);
    await changeInputs(rig, { id: ids[0] }, { status: 'cancelled' });
    await sampleMinute(database);
    monotonicMs += 1_000;
    const sampled = (await rig.get('/v1/overview')).body;
    expect(sampled.waiting.count).toBe(1);
    expect(Math.max(...sampled.points.waiting)).toBe(2);
    await changeMinuteSamples(rig, {}, { startsAt: earlier('3 days') });
    while (await trimUsage(database));
    expect(await countMinuteSamples(rig)).toBe(0);
  });

  test('says of each lane which session waits longest, and why its message waits', async () => {
    const { rig } = holder;
    await removeWorkers(rig);
    await changeInputs(rig, { status: 'waiting' }, { status: 'cancelled' });
    const spawned = await rig.post('/v1/sessions/why/spawn', { task: 'x' });
    const first = (await rig.post('/v1/sessions/why-first/messages', { text: 'x' })).body.message;
    await rig.post('/v1/sessions/why-later/messages', { text: 'x' });
    await rig.post('/v1/pause', { session: 'why-first', reason: 'a test' });
    const { why } = (await rig.get(`/v1/messages/${first.id}`)).body;
    expect(why).toMatchObject({ code: 'paused', text: expect.stringContaining('a test') });
    const { lanes } = (await rig.get('/v1/overview')).body;
    expect(lanes).toMatchObject([
      { lane: 'main', oldestAt: first.receivedAt, oldest: { sessionKey: 'agent:main:why-first', why } },
      { lane: 'subagent', oldest: { sessionKey: spawned.body.childSessionKey, why: { code: 'no_worker' } } },
      { lane: 'cron', oldestAt: null, oldest: null },
      { lane: 'batch', oldestAt: null, oldest: null },
    ]);
    await rig.post('/v1/resume', { session: 'why-first' });
  });

  test('counts the messages of a parked turn among those that wait, with their age and the reason, as every other list does', async () => {
    const { rig } = holder;
    await changeInputs(rig, { status: 'waiting' }, { status: 'cancelled' });
    await play('parked', '[[error: 529 retry-after=600]]');
    const [message] = (await rig.get('/v1/messages?session=parked')).body.items;
    expect(message).toMatchObject({ status: 'claimed', why: { code: 'model_blocked' } });
    const { why } = message;
    const overview = (await rig.get('/v1/overview')).body;
    expect(overview).toMatchObject({ parked: 1, waiting: { count: 1, oldestAt: message.receivedAt } });
    expect(overview.lanes[0]).toMatchObject({ parked: 1, oldest: { sessionKey: message.sessionKey, why } });
    const waiting = (await rig.get('/v1/waiting?session=parked')).body;
    expect(waiting).toMatchObject({ count: 1, items: [{ id: message.id, status: 'claimed', position: 1, why }] });
    expect((await rig.get('/v1/waiting')).body).toMatchObject({ items: expect.arrayContaining(waiting.items) });
    const session = (await rig.get('/v1/sessions/parked')).body;
    expect(session).toMatchObject({ status: 'waiting', why: { code: why.code, text: why.text } });
    const stats = (await rig.get('/v1/stats')).body;
    expect(stats).toMatchObject({ messages: { waiting: 1 }, oldestWaitMs: expect.any(Number) });
    expect(stats.messages.claimed ?? 0).toBe(0);
    const text = (await rig.get('/metrics')).body as string;
    expect(text).toContain('holdfast_messages{status="waiting"} 1\n');
    expect(text).toContain('holdfast_parked_turns{code="model_blocked"} 1\n');
    expect(text).toMatch(/^holdfast_oldest_wait_seconds [0-9.e-]+$/m);
    expect(text).not.toMatch(/^holdfast_oldest_wait_seconds 0$/m);
    expect(text).toMatch(/^holdfast_lane_oldest_wait_seconds\{lane="main",code="model_blocked"\} [0-9.e-]+$/m);
    await rig.post('/v1/sessions/parked/abort', {});
    await rig.work('parked');
    await removeModelBlocks(rig);
  });

  test('is read once for all requests of a second, and is 304 while it is unchanged', async () => {
    const { rig } = holder;
    const first = await rig.get('/v1/overview');
    await rig.post('/v1/sessions/waits-too/messages', { text: 'x' });
    const same = await rig.get('/v1/overview', { 'if-none-match': String(first.headers['etag']) });
    expect(same).toMatchObject({ status: 304, headers: { etag: first.headers['etag'] }, body: '' });
    monotonicMs += 1_000;
    const changed = await rig.get('/v1/overview', { 'if-none-match': String(first.headers['etag']) });
    expect(changed.status).toBe(200);
    expect(changed.body.waiting.count).toBe(first.body.waiting.count + 1);
  });
});

describe('GET /v1/attention', () => {
  test('names the problems that need an operator, by their consequence, one for each cause', async () => {
    const { rig } = holder;
    await removeDeadLetters(rig);
    // What the other tests have left undone.
    await removeDoorbells(rig);
    await removeWorkers(rig);
    await changeUsageBuckets(rig, {}, { unpricedCalls: 0 });
    const before: { items: { kind: string }[] } = (await rig.get('/v1/attention')).body;
    // Tests on the same server may have open transactions.
    expect(before.items.filter(({ kind }) => kind !== 'events_held')).toEqual([]);
    const session = await rig.turns.sessionOf('troubled');
    const id = newId();
    await addCrons(rig, {
      id,
      name: 'late',
      origin: 'api',
      schedule: {},
      target: 'main',
      payload: {},
      nextSlotAt: ago('1 hour'),
    });
    await addCronFires(rig, { cronId: id, scheduledFor: ago('2 hours'), status: 'missed' });
    await addDeadLetters(rig, {}, {}, {});
    const running = { roles: ['scheduler'], lanes: { main: { slots: 1, inUse: 0 } }, seenAt: ahead('1 hour') };
    await addWorkers(
      rig,
      { name: 'w-1', seenAt: ago('1 minute') },
      { name: 'w-2', ...running, startedAt: ago('1 hour') },
    );
    await addDoorbells(rig, { sessionId: session, lane: 'main', rings: 1 });
    await changeSessions(rig, { id: session }, { owner: 'w-1', leaseExpiresAt: ago('10 minutes') });
    await addDeliveries(rig, { sessionId: session, attempts: 3, lastError: 'HTTP 500' });
    await addPauses(rig, { lane: 'batch', pausedBy: 'admin' });
    await addModelBlocks(rig, { account: 'account', model: 'anthropic/m', until: ahead('1 hour') });
    const unknown = { status: 'unknown', requestCount: 5, submitStartedAt: now };
    await addProviderBatches(rig, unknown, { requestCount: 6, submitStartedAt: ago('21 hours') });
    await addUsageBuckets(rig, { startsAt: now, model: 'new/model', unpricedCalls: 2, isSimulated: false });
    const parked = { status: 'parked', endedAt: null, parkCode: 'model_away', parkBy: 'anthropic', parkSince: now };
    await changeTurns(rig, {}, parked);
    monotonicMs += 1_000;
    const { items } = (await rig.get('/v1/attention')).body;
    expect(items.map(({ kind }: { kind: string }) => kind)).toEqual(
      expect.arrayContaining([
        'dead_letters',
        'worker_silent',
        'lock_expired',
        'paused',
        'cron_missed',
        'cron_late',
        'deliveries_failing',
        'model_away',
        'model_unpriced',
        'provider_batch_unknown',
        'provider_batch_old',
      ]),
    );
    const place = (kind: string) => items.findIndex((item: { kind: string }) => item.kind === kind);
    expect(place('worker_silent')).toBeLessThan(place('model_away'));
    expect(place('model_away')).toBeLessThan(place('dead_letters'));
    expect(place('model_blocked'), 'its provider is away').toBe(-1);
    expect(items).toContainEqual(
      expect.objectContaining({ kind: 'dead_letters', count: 3, text: '3 dead letters with the code poison' }),
    );
  });

  const attention = async (kind: string) => {
    monotonicMs += 1_000;
    const { items } = (await holder.rig.get('/v1/attention')).body;
    return items.find((item: { kind: string }) => item.kind === kind);
  };
  const openCount = async () => {
    const { errors, warnings } = (await holder.rig.get('/v1/stats')).body.attention;
    return errors + warnings;
  };

  test('lists a silent worker until a process with its roles has started in its place', async () => {
    const { rig } = holder;
    await removeWorkers(rig);
    const worker = (name: string, roles: string[], started: string, seen: string) =>
      addWorkers(rig, { name, roles, startedAt: ago(started), seenAt: ago(seen) });
    await worker('killed', ['worker'], '2 hours', '40 minutes');
    await worker('older', ['worker', 'api'], '2 hours', '0');
    await worker('scheduler', ['scheduler'], '1 minute', '0');
    expect(await attention('worker_silent')).toMatchObject({ text: expect.stringContaining('killed') });
    await worker('new', ['worker', 'scheduler'], '39 minutes', '0');
    expect(await attention('worker_silent')).toBeUndefined();
    // One process replaces one other.
    await worker('killed too', ['worker'], '2 hours', '41 minutes');
    expect(await attention('worker_silent')).toMatchObject({ text: expect.stringContaining('killed too') });
    await removeWorkers(rig);
  });

  test('lists missed slots until the cron fires again', async () => {
    const { rig } = holder;
    expect(await attention('cron_missed')).toMatchObject({ count: 1 });
    for (const { id } of await readCrons(rig, {}, 'id'))
      await addCronFires(rig, { cronId: id, scheduledFor: ago('1 hour'), status: 'completed' });
    expect(await attention('cron_missed')).toBeUndefined();
  });

  test('keeps who has acknowledged or snoozed a problem and why, and counts it no more until it is open again', async () => {
    const { rig } = holder;
    const letters = await attention('dead_letters');
    expect(letters).toMatchObject({ state: 'open', mark: null });
    const count = await openCount();
    const path = `/v1/attention/${letters.id}`;
    const answer = await rig.post(`${path}/acknowledge`, { reason: 'known' });
    const mark = { by: 'admin', at: expect.any(String), until: null, reason: 'known' };
    expect(answer).toMatchObject({ status: 200, body: { id: letters.id, state: 'acknowledged', mark } });
    const { items } = (await rig.get('/v1/attention')).body;
    expect(items.at(-1)).toMatchObject({ id: letters.id, state: 'acknowledged', mark });
    expect(await openCount()).toBe(count - 1);
    const [logged] = (await rig.get('/v1/audit')).body.items;
    expect(logged).toMatchObject({
      principal: 'admin',
      action: 'acknowledgeAttention',
      target: `${path}/acknowledge`,
      reason: 'known',
      outcome: 'ok',
    });
    // One more dead letter is news.
    await addDeadLetters(rig, { code: 'poison', reason: 'r' });
    expect(await attention('dead_letters')).toMatchObject({ state: 'open', mark: null, count: 4 });
    const snoozed = (await rig.post(`${path}/snooze`, { seconds: 60 })).body;
    expect(snoozed).toMatchObject({ state: 'snoozed', mark: { until: expect.any(String), reason: null } });
    expect((await rig.post(`${path}/snooze`, { seconds: 0 })).body).toMatchObject({ state: 'open', mark: null });
    expect(await openCount()).toBe(count);
  });

  test('lists the calls of a tool with an unknown outcome until they are acknowledged, and those that follow', async () => {
    const { rig } = holder;
    const turnId = newId<string>();
    await addTurns(rig, { id: turnId, sessionId: newId<string>(), status: 'completed', endedAt: now });
    const call = (step: number, unknownAt: Expression) =>
      addToolCalls(rig, { turnId, step, name: 'refund', status: 'unknown', unknownAt });
    await call(1, ago('2 hours'));
    await call(2, ago('1 hour'));
    const found = await attention('calls_unknown');
    expect(found).toMatchObject({
      state: 'open',
      count: 2,
      text: expect.stringMatching(/^2 calls of refund have an unk/),
    });
    const { body } = await rig.post(`/v1/attention/${found.id}/acknowledge`, { reason: 'both were paid once' });
    expect(body).toMatchObject({ state: 'acknowledged', count: 2 });
    expect(await readServiceHealth(rig.turns.database.reads)).not.toContainEqual(
      expect.objectContaining({ kind: 'calls_unknown' }),
    );
    await call(3, now);
    expect(await attention('calls_unknown'), 'those before are decided').toMatchObject({ state: 'open', count: 1 });
    // While a person reads of one, there is another.
    await call(4, now);
    expect(await rig.post(`/v1/attention/${found.id}/acknowledge`, { count: 1 })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('count is 1, and there are 2 now: 2 calls of refund') },
    });
    expect(await attention('calls_unknown')).toMatchObject({ state: 'open', count: 2 });
    const decided = await rig.post(`/v1/attention/${found.id}/acknowledge`, { count: 2 });
    expect(decided).toMatchObject({ status: 200, body: { state: 'acknowledged' } });
  });

  test('lists a new call with an unknown outcome after a thousand were acknowledged', async () => {
    const { rig } = holder;
    await emptyTables(rig, 'tool_calls');
    const turnId = newId<string>();
    const call = { turnId, name: 'book', status: 'unknown', unknownAt: ago('1 hour') };
    await addToolCalls(rig, ...Array.from({ length: 1_000 }, (_, step) => ({ ...call, step })));
    const { id } = await attention('calls_unknown');
    await rig.post(`/v1/attention/${id}/acknowledge`);
    await addToolCalls(rig, { ...call, step: 1_000, unknownAt: now });
    expect(await attention('calls_unknown')).toMatchObject({ state: 'open', count: 1 });
  });

  test('lists the effects of a problem once a person has decided about it, and hides them while it is open', async () => {
    const { rig } = holder;
    await emptyTables(rig, 'model_blocks', 'turns');
    await addModelBlocks(rig, { account: 'account', model: 'anthropic/m', until: ahead('1 hour') });
    expect(await attention('model_blocked')).toMatchObject({ state: 'open' });
    const parked = { status: 'parked', parkCode: 'model_away', parkBy: 'anthropic', parkSince: now };
    await addTurns(rig, { sessionId: newId<string>(), ...parked });
    const cause = await attention('model_away');
    expect(await attention('model_blocked')).toBeUndefined();
    await rig.post(`/v1/attention/${cause.id}/snooze`, { seconds: 60 });
    expect(await attention('model_blocked')).toMatchObject({ state: 'open' });
    await emptyTables(rig, 'model_blocks', 'turns');
  });

  test('refuses a decision about a problem that does not exist, and a snooze of a negative time', async () => {
    const { rig } = holder;
    expect(await rig.post('/v1/attention/none/snooze', {})).toMatchObject({
      status: 404,
      body: { code: 'not_found', detail: expect.stringContaining('problem none') },
    });
    expect(await rig.post('/v1/attention/none/snooze', { seconds: -1 })).toMatchObject({ status: 400 });
  });
});
