// Goal: keys with a scope have their part of approvals, calls of external tools, dead letters,
// batches, agents and costs, and nothing else (G44). Method: two keys for different sessions of one
// agent, and one for another agent.
import { beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { useApiRig } from '../api/use-api-rig.ts';
import { expectSame, makeScopedKey, type ScopedKey } from '../api/scoped-key.ts';
import { batchRig } from './batches/batch-rig.ts';

const inputSchema = { type: 'object' };
const holder = useApiRig({
  file: {
    agents: { list: [{ id: 'main' }, { id: 'helper' }] },
    tools: {
      external: [{ name: 'refund', description: 'Refunds an order.', inputSchema }],
      externalWebhook: 'http://127.0.0.1:9/calls',
      approvals: { rules: [{ tools: ['echo'] }], webhook: 'http://127.0.0.1:9/approvals' },
    },
  },
});

const keys = {} as { shop: ScopedKey; office: ScopedKey; helper: ScopedKey };
beforeAll(async () => {
  keys.shop = await makeScopedKey(holder.rig, { sessions: ['agent:main:shop:*'] });
  keys.office = await makeScopedKey(holder.rig, { sessions: ['agent:main:office:*'] });
  keys.helper = await makeScopedKey(holder.rig, { agents: ['helper'] });
});

async function say(key: ScopedKey, session: string, text: string) {
  const sent = await key.post(`/v1/sessions/${session}/messages`, { text });
  expect(sent.status).toBe(202);
  await holder.rig.work(session);
  return (await key.get(`/v1/messages/${sent.body.message.id}`)).body;
}

const items = async (key: ScopedKey, url: string) => (await key.get(url)).body.items;
const sessionsOf = (list: { sessionKey: string }[]) => list.map(({ sessionKey }) => sessionKey);

test('an approval is listed, shown and decided by the key of its session alone (G44)', async () => {
  const { shop, office } = keys;
  await say(shop, 'shop:asks', '[[tool: echo {"a": 1}]] [[reply: done]]');
  await say(office, 'office:asks', '[[tool: echo {"a": 1}]] [[reply: done]]');
  for (const [key, own] of [
    [shop, 'agent:main:shop:asks'],
    [office, 'agent:main:office:asks'],
  ] as const) {
    expect(sessionsOf(await items(key, '/v1/approvals?status=open'))).toEqual([own]);
  }
  const [{ id }] = await items(office, '/v1/approvals');
  const unknown = newId<string>();
  expectSame([await shop.get(`/v1/approvals/${id}`), id], [await shop.get(`/v1/approvals/${unknown}`), unknown]);
  for (const verb of ['approve', 'deny']) {
    const [of, never] = [`/v1/approvals/${id}/${verb}`, `/v1/approvals/${unknown}/${verb}`];
    expectSame([await shop.post(of), id], [await shop.post(never), unknown]);
  }
  expect((await holder.rig.post(`/v1/approvals/${id}/approve`)).body.decidedBy).toBe('admin');
  expect((await office.get(`/v1/approvals/${id}`)).body).toMatchObject({ status: 'approved' });
  const late = await office.post(`/v1/approvals/${id}/deny`);
  expect(late).toMatchObject({ status: 409, body: { code: 'already_decided' } });
  expect(late.body.detail).not.toContain('admin');
});

test('a call of an external tool belongs to its session (G44)', async () => {
  const { shop, office } = keys;
  const text = '[[tool: refund {"order": "42"}]] [[reply: done]]';
  const { why } = await say(office, 'office:calls', text);
  await say(shop, 'shop:calls', text);
  expect(sessionsOf(await items(shop, '/v1/tool-calls?status=waiting'))).toEqual(['agent:main:shop:calls']);
  const unknown = `call_${newId<string>().replaceAll('-', '')}_1_1`;
  expectSame(
    [await shop.get(`/v1/tool-calls/${why.by}`), why.by],
    [await shop.get(`/v1/tool-calls/${unknown}`), unknown],
  );
  const answer = (id: string) => shop.post(`/v1/tool-calls/${id}/result`, { content: 'mine' });
  expectSame([await answer(why.by), why.by], [await answer(unknown), unknown]);
  const answered = await office.post(`/v1/tool-calls/${why.by}/result`, { content: 'refunded' });
  expect(answered).toMatchObject({ status: 200, body: { status: 'answered' } });
});

test('dead letters are counted and listed as far as their sessions are inside (G44)', async () => {
  const { shop, office } = keys;
  for (const session of ['office:fails', 'office:fails-too']) await say(office, session, '[[error: 400 message="no"]]');
  await say(shop, 'shop:fails', '[[error: 400 message="no"]]');
  const groups = await items(shop, '/v1/dead-letters');
  expect(groups).toMatchObject([{ count: 1, letters: [{ sessionKey: 'agent:main:shop:fails' }] }]);
  expect(groups[0].perHour.counts.reduce((sum: number, count: number) => sum + count)).toBe(1);
  expect(await items(office, '/v1/dead-letters')).toMatchObject([{ count: 2 }]);
  expect(await items(keys.helper, '/v1/dead-letters')).toEqual([]);
  expect((await shop.post('/v1/dead-letters/redrive', {})).status).toBe(403);
});

describe('a batch of a key with a scope', () => {
  test('belongs to the key, with the sessions of its items (G44)', async () => {
    const { shop, office } = keys;
    const made = await shop.post('/v1/batches', {
      items: [{ text: '[[reply: one]]' }, { text: 'hi', sessionKey: 'shop:b' }],
    });
    expect(made.status).toBe(201);
    const { id } = made.body;
    await batchRig(holder.rig).run(id);
    const own = await items(shop, `/v1/batches/${id}/items`);
    expect(own).toMatchObject([{ status: 'answered' }, { status: 'answered', sessionKey: 'agent:main:shop:b' }]);
    expect((await shop.get(`/v1/sessions/${own[0].sessionKey}`)).status).toBe(200);
    expect((await items(shop, '/v1/batches')).map((batch: { id: string }) => batch.id)).toEqual([id]);
    expect(await items(office, '/v1/batches')).toEqual([]);
    const whole = await makeScopedKey(holder.rig, { agents: ['main'] });
    const unknown = newId<string>();
    for (const key of [office, whole]) {
      const session = own[0].sessionKey;
      const never = `agent:main:batch:${unknown}:1`;
      expectSame([await key.get(`/v1/sessions/${session}`), session], [await key.get(`/v1/sessions/${never}`), never]);
      for (const part of ['', '/items', '/results'])
        expectSame(
          [await key.get(`/v1/batches/${id}${part}`), id],
          [await key.get(`/v1/batches/${unknown}${part}`), unknown],
        );
      for (const verb of ['pause', 'cancel', 'retry-failed'])
        expectSame(
          [await key.post(`/v1/batches/${id}/${verb}`), id],
          [await key.post(`/v1/batches/${unknown}/${verb}`), unknown],
        );
      expectSame(
        [await key.ask('PATCH', `/v1/batches/${id}`, { name: 'x' }), id],
        [await key.ask('PATCH', `/v1/batches/${unknown}`, { name: 'x' }), unknown],
      );
      expectSame(
        [await key.ask('DELETE', `/v1/batches/${id}`), id],
        [await key.ask('DELETE', `/v1/batches/${unknown}`), unknown],
      );
    }
  });

  test('names no session outside, no agent outside and no receiver, in JSON and in lines (G44)', async () => {
    const { shop, office } = keys;
    await say(office, 'office:there', 'hello');
    const [foreign, unknown] = ['agent:main:office:there', 'agent:main:office:nowhere'];
    const lines = (sessionKey: string, query = '') =>
      shop.post(`/v1/batches${query}`, `${JSON.stringify({ text: 'hi', sessionKey })}\n`, {
        'content-type': 'application/x-ndjson',
      });
    const list = (sessionKey: string) => shop.post('/v1/batches', { items: [{ text: 'hi', sessionKey }] });
    expectSame([await list(foreign), foreign], [await list(unknown), unknown]);
    expectSame([await lines(foreign), foreign], [await lines(unknown), unknown]);
    expectSame([await lines(foreign, '?dryRun=true'), foreign], [await lines(unknown, '?dryRun=true'), unknown]);

    const ofAgent = (agentId: string) => shop.post('/v1/batches', { agentId, items: [{ text: 'hi' }] });
    expectSame([await ofAgent('helper'), 'helper'], [await ofAgent('nobody'), 'nobody']);

    const deliver = { url: 'https://example.com/answers' };
    for (const [body, field] of [
      [{ deliver, items: [{ text: 'hi' }] }, 'deliver'],
      [{ items: [{ text: 'hi', deliver }] }, 'items[0].deliver'],
    ] as const) {
      const refused = await shop.post('/v1/batches', body);
      expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } });
      expect(refused.body.detail).toContain(`${field} sends answers`);
    }
    const ofQuery = await lines('shop:c', '?deliver=https%3A%2F%2Fexample.com');
    expect(ofQuery.status).toBe(403);
    const ofLine = await shop.post('/v1/batches', `${JSON.stringify({ text: 'hi', deliver })}\n`, {
      'content-type': 'application/x-ndjson',
    });
    expect(ofLine.body.detail).toContain('line 1: deliver sends answers');
    expect((await items(shop, '/v1/batches')).length).toBe(1);
  });
});

test('an answer is sent to no address that a key with a scope names; nowhere is allowed (G44)', async () => {
  const { shop } = keys;
  const to = (deliver: object | null) => shop.post('/v1/sessions/shop:d/messages', { text: 'hi', deliver });
  const refused = await to({ url: 'https://example.com/answers' });
  expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  expect(refused.body.detail).toContain('deliver sends answers');
  expect((await to(null)).status).toBe(202);
  const spawn = { task: 'look', deliver: { url: 'https://example.com/answers' } };
  expect((await shop.post('/v1/sessions/shop:d/spawn', spawn)).status).toBe(403);
});

test('a key for an agent has its settings and its costs; a key for sessions has no costs (G44)', async () => {
  const { shop, helper } = keys;
  await say(shop, 'shop:spends', '[[reply: one]]');
  await say(helper, 'agent:helper:spends', '[[reply: one]]');
  expect((await items(helper, '/v1/agents')).map(({ id }: { id: string }) => id)).toEqual(['helper']);
  expect(await items(shop, '/v1/agents')).toEqual([]);
  // What it is told about the agent has nothing of the whole service.
  expect((await holder.rig.post('/v1/budgets', { scope: 'all', per: 'day', limitUsd: 5 })).status).toBe(201);
  expect((await holder.rig.get('/v1/agents/helper')).body.budgets).toHaveLength(1);
  await holder.rig.post('/v1/pause', { agent: 'helper', reason: 'a secret' });
  const { paused, workspace, heartbeat } = (await holder.rig.get('/v1/agents/helper')).body;
  expect(paused).toMatchObject({ pausedBy: 'admin', reason: 'a secret' });
  const hidden = {
    paused: { ...paused, pausedBy: null, reason: null },
    workspace: null,
    heartbeat: { ...heartbeat, target: null },
    crons: null,
  };
  expect(workspace).not.toBeNull();
  expect((await helper.get('/v1/agents/helper')).body).toMatchObject({
    ...hidden,
    budgets: [],
    cronList: [],
    mcpServers: [],
  });
  expect(await items(helper, '/v1/agents')).toMatchObject([hidden]);
  await holder.rig.post('/v1/resume', { agent: 'helper' });
  expectSame([await helper.get('/v1/agents/main'), 'main'], [await helper.get('/v1/agents/nobody'), 'nobody']);
  expect((await items(helper, '/v1/usage?group=agent')).map(({ group }: { group: string }) => group)).toEqual([
    'helper',
  ]);
  const top = (await helper.get('/v1/usage/top')).body;
  expect(sessionsOf(top.sessions)).toEqual(['agent:helper:spends']);
  expect(sessionsOf(top.turns)).toEqual(['agent:helper:spends']);
  expect(top.turnsRead).toBe(1);
  for (const path of ['/v1/usage', '/v1/usage/top', '/v1/stats']) expect((await shop.get(path)).status).toBe(403);
  expect((await helper.get('/v1/stats')).status).toBe(403);
  expect((await helper.get('/v1/heartbeats')).status).toBe(403);
});
