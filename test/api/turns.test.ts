import { describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { addModelCalls } from '../rows/calls.ts';
import { addDeadLetters, readDeadLetters } from '../rows/dead-letters.ts';
import { addDeliveries, countDeliveries } from '../rows/deliveries.ts';
import { ago, now } from '../rows/table.ts';
import { changeTurns } from '../rows/turns.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

describe('a turn', () => {
  test('shows its steps, calls, tools and spans', async () => {
    const turn = await holder.rig.turnOf('steps', 'do [[tool: echo {}]] [[reply: done]]');
    expect(turn).toMatchObject({ sessionKey: 'agent:main:steps', status: 'completed', reply: 'done', stepCount: 2 });
    expect(turn.steps).toMatchObject([
      { n: 1, calls: [{ n: 1, status: 'ok', stopReason: 'tool_use' }], tools: [{ name: 'echo' }] },
      { n: 2, calls: [{ n: 2, status: 'ok', stopReason: 'end_turn' }], tools: [] },
    ]);
    expect(turn.spans.map((span: { kind: string }) => span.kind)).toEqual([
      'accept',
      'queue.wait',
      'prompt.assemble',
      'model.call',
      'tool.exec',
      'model.call',
    ]);
    for (const span of turn.spans) expect(Date.parse(span.endedAt)).toBeGreaterThanOrEqual(Date.parse(span.startedAt));
  });

  test('shows in a list the words that it answers, and who sent them where; kinds can be left out', async () => {
    const { rig } = holder;
    const text = `Where is\n  my   order? ${'x'.repeat(200)} [[reply: Here.]]`;
    await rig.post('/v1/sessions/worded/messages', { text, channel: 'telegram', sender: { id: '7', name: 'Ada' } });
    await rig.work('worded');
    const [listed] = (await rig.get('/v1/turns?session=worded&steps=none')).body.items;
    const firstWords = `Where is my order? ${'x'.repeat(101)}`;
    expect(listed).toMatchObject({ firstWords, person: 'Ada', channel: 'telegram' });
    expect((await rig.get('/v1/sessions?q=worded')).body.items).toMatchObject([
      { firstWords, lastWords: 'Here.', person: 'Ada', channel: 'telegram' },
    ]);
    expect((await rig.get('/v1/turns?session=worded&except=batch,message')).body.items).toEqual([]);
    expect((await rig.get('/v1/turns?session=worded&except=batch')).body.items.length).toBe(1);
    const { body } = await rig.get('/v1/turns?except=all');
    expect(body.errors[0].path).toBe('except');
  });

  test('names the turns before and after it in its session', async () => {
    const ids: string[] = [];
    for (const text of ['one', 'two', 'three']) {
      await holder.rig.settle('neighbours', text);
      ids.push((await holder.rig.get('/v1/turns?session=neighbours&limit=1')).body.items[0].id);
      await holder.rig.settle('other-neighbours', text);
    }
    const found = await Promise.all(ids.map((id) => holder.rig.get(`/v1/turns/${id}`)));
    expect(found.map(({ body }) => [body.previousTurnId, body.nextTurnId])).toEqual([
      [null, ids[1]],
      [ids[0], ids[2]],
      [ids[1], null],
    ]);
  });

  test('names the harness that answered it and the reason; a compaction has no harness', async () => {
    const { rig } = holder;
    const turn = await rig.turnOf('harnessed', '[[reply: ok]]');
    expect(turn.harness).toEqual({ id: 'built-in', reason: 'auto_fallback' });
    await changeTurns(rig, { id: turn.id }, { view: { harness: { id: 'helper', reason: 'auto_plugin' } } });
    const named = (await rig.get('/v1/turns?session=harnessed')).body.items;
    expect(named).toMatchObject([{ harness: { id: 'helper', reason: 'auto_plugin' } }]);
    expect((await rig.turnOf('harnessed', '/compact')).harness).toBeNull();
  });

  test('gives the exact request of each of its calls', async () => {
    const { rig } = holder;
    const turn = await rig.turnOf('requests', '[[reply: ok]]');
    const sent = rig.turns.scripted.requests.at(-1);
    const derived = await rig.get(`/v1/turns/${turn.id}/requests/1`);
    expect(derived.body.request).toEqual(sent?.body);
    expect(derived.body).toMatchObject({ turnId: turn.id, call: 1, purpose: 'answer', status: 'ok', matches: true });
    const trusts = derived.body.parts.map((part: { trust: string }) => part.trust);
    expect(new Set(trusts)).toEqual(new Set(['trusted', 'untrusted']));
    expect((await rig.get(`/v1/turns/${turn.id}/requests/2`)).status).toBe(404);
  });

  test('has a cost where a price is known', async () => {
    const { rig } = holder;
    const turn = await rig.turnOf('cost', '[[usage: input=1000 output=200 cache-read=0 cache-write=0]] [[reply: ok]]');
    const cost = { costUsd: 0.004, costMicros: 4000, simulated: true };
    expect(turn).toMatchObject({ ...cost, unpricedCalls: 0 });
    expect(turn.steps[0].calls).toMatchObject([
      { ...cost, tier: 'standard', isEstimated: false, cacheWrite1hTokens: 0 },
    ]);
    const [listed] = (await rig.get('/v1/turns?session=cost')).body.items;
    expect(listed).toMatchObject(cost);
    expect((await rig.get('/v1/sessions/cost')).body).toMatchObject({ ...cost, unpricedCalls: 0 });
  });

  test('that failed can be retried, one that ended well cannot', async () => {
    const { rig } = holder;
    const good = await rig.turnOf('not-retried', '[[reply: ok]]');
    expect(await rig.post(`/v1/turns/${good.id}/retry`)).toMatchObject({ status: 409, body: { code: 'conflict' } });
    const failed = await rig.turnOf('retried', 'bad [[error: 400]]');
    expect(await rig.post(`/v1/turns/${failed.id}/retry`)).toMatchObject({ status: 202, body: { retried: failed.id } });
    expect((await rig.get('/v1/sessions/retried')).body.waitingMessages).toBe(1);
    expect(rig.rings.at(-1)).toMatchObject({ kind: 'inbound', lane: 'main' });
  });

  test('that has ended cannot be aborted', async () => {
    const { rig } = holder;
    const turn = await rig.turnOf('ended', '[[reply: ok]]');
    expect(await rig.post(`/v1/turns/${turn.id}/abort`)).toMatchObject({ status: 200, body: { aborted: false } });
  });
});

describe('turns', () => {
  test('are found by session, status, kind, lane and time, and by nothing else', async () => {
    const { rig } = holder;
    const bad = await rig.turnOf('filtered', 'bad [[error: 400]]');
    const good = await rig.turnOf('filtered', '[[reply: ok]]');
    const ids = async (query: string): Promise<string[]> =>
      (await rig.get(`/v1/turns?session=filtered&${query}`)).body.items.map((turn: { id: string }) => turn.id);
    expect(await ids('')).toEqual([good.id, bad.id]);
    expect(await ids('status=failed')).toEqual([bad.id]);
    expect(await ids('status=failed,completed')).toEqual([good.id, bad.id]);
    expect(await ids('kind=cron')).toEqual([]);
    expect(await ids('kind=message&lane=main')).toEqual([good.id, bad.id]);
    expect(await ids(`since=${good.startedAt}`)).toContain(good.id);
    expect(await ids(`since=2999-01-01T00:00:00Z`)).toEqual([]);
    expect((await rig.get('/v1/turns?session=no-such-session')).body.items).toEqual([]);
  });

  test('in a list have their last 20 steps and the number of all', async () => {
    const { rig } = holder;
    const turn = await rig.turnOf('long', '[[reply: ok]]');
    for (let step = 2; step <= 30; step += 1) {
      await addModelCalls(rig, {
        turnId: turn.id,
        callNo: step,
        step,
        epoch: 1,
        untilSeq: 1,
        status: 'ok',
        startedAt: now,
        endedAt: now,
      });
    }
    const [listed] = (await rig.get('/v1/turns?session=long')).body.items;
    expect(listed.steps.map((step: { n: number }) => step.n)).toEqual(Array.from({ length: 20 }, (_, n) => n + 11));
    expect(listed.stepCount).toBe(30);
    expect((await rig.get(`/v1/turns/${turn.id}`)).body.steps).toHaveLength(30);
  });
});

describe('the outbox', () => {
  async function newDelivery(status: string, target: object = { url: 'https://example.org/hook' }): Promise<string> {
    const { rig } = holder;
    const id = newId<string>();
    const sessionId = await rig.turns.sessionOf('outbox');
    const seq = (await countDeliveries(rig)) + 1;
    const delivery = { id, sessionId, seq, target, payload: { text: 'hi' }, status };
    await addDeliveries(rig, { ...delivery, expiresAt: ago('1 hour') });
    return id;
  }

  test('is listed newest first, by session and status, without credentials (G31)', async () => {
    const { rig } = holder;
    const failed = await newDelivery('failed', { url: 'https://ada:pw12345@example.org/x', secret: 'whsec_1' });
    const sent = await newDelivery('sent');
    const { items } = (await rig.get('/v1/deliveries?session=outbox')).body;
    expect(items.map((item: { id: string }) => item.id)).toEqual([sent, failed]);
    expect(items[1].target).toEqual({ url: 'https://[redacted]@example.org/x', secret: '[redacted]' });
    expect((await rig.get('/v1/deliveries?status=failed')).body.items).toHaveLength(1);
  });

  test('sends a failed delivery again with a new deadline, and closes its dead letter', async () => {
    const { rig } = holder;
    const id = await newDelivery('failed');
    await addDeadLetters(rig, { kind: 'delivery', deliveryId: id, code: 'delivery_failed', reason: '500' });
    const redriven = await rig.post(`/v1/deliveries/${id}/redrive`);
    expect(redriven).toMatchObject({ status: 200, body: { id, status: 'pending', attempts: 0, settledAt: null } });
    expect(Date.parse(redriven.body.expiresAt)).toBeGreaterThan(Date.now());
    expect(await readDeadLetters(rig, { deliveryId: id }, 'state')).toEqual([{ state: 'redriven' }]);
    expect((await rig.post(`/v1/deliveries/${id}/redrive`)).body.code).toBe('conflict');
  });

  test('discards an open delivery on request, but not a sent one', async () => {
    const { rig } = holder;
    const pending = await newDelivery('pending');
    expect((await rig.post(`/v1/deliveries/${pending}/discard`)).body.status).toBe('discarded');
    const sent = await newDelivery('sent');
    expect(await rig.post(`/v1/deliveries/${sent}/discard`)).toMatchObject({ status: 409 });
    const sending = await newDelivery('sending');
    expect(await rig.post(`/v1/deliveries/${sending}/discard`)).toMatchObject({ status: 409 });
  });
});

describe('dead letters', () => {
  test('are grouped by code', async () => {
    const { rig } = holder;
    const sessionId = await rig.turns.sessionOf('dead');
    for (let n = 1; n <= 25; n += 1) {
      await addDeadLetters(rig, { sessionId, code: n <= 3 ? 'poison' : 'model_failed', reason: `reason ${n}` });
    }
    const groups = (await rig.get('/v1/dead-letters')).body.items.filter(
      (one: { kind: string; code: string }) => one.kind === 'turn' && ['model_failed', 'poison'].includes(one.code),
    );
    expect(groups).toMatchObject([
      { code: 'model_failed', count: 22 },
      { code: 'poison', count: 3 },
    ]);
    expect(groups[0].letters).toHaveLength(20);
    expect(groups[1].letters[0]).toMatchObject({ reason: 'reason 3', sessionKey: 'agent:main:dead', state: 'open' });
    const first = await rig.get('/v1/dead-letters?limit=1');
    const second = await rig.get(`/v1/dead-letters?limit=1&cursor=${first.body.nextCursor}`);
    expect(second.body.items[0].code).not.toBe(first.body.items[0].code);
  });
});
