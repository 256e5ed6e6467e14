// Tools that another program runs: how they are defined, how a call is asked for and answered over
// the API, and what the webhook receives.
import { describe, expect, test } from 'vitest';
import { runExternalToolRound } from '../../../src/features/external-tools/rounds.ts';
import { toolCallId } from '../../../src/core/tool-policy.ts';
import { newId } from '../../../src/ids.ts';
import { changeToolCalls } from '../../rows/calls.ts';
import { changeDoorbells } from '../../rows/doorbells.ts';
import { ago, now } from '../../rows/table.ts';
import { readEntries } from '../../rows/entries.ts';
import { readEvents } from '../../rows/events.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const url = 'http://127.0.0.1:9/calls';
const inputSchema = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };
const refund = { name: 'refund', description: 'Refunds an order.', inputSchema, timeout: '2h' };
const lookup = { name: 'lookup', description: 'Looks an order up.', inputSchema };
const asked = { name: 'asked', description: 'Asks first.', inputSchema: { type: 'object' } };
const holder = useApiRig({
  file: {
    tools: {
      deny: ['denied_*'],
      external: [refund, asked],
      externalWebhook: url,
      approvals: { rules: [{ tools: ['asked'] }] },
    },
  },
});

/** Sends a message whose turn calls a tool and is parked for it; the call as the API shows it. */
async function call(session: string, tool = 'refund', more: object = {}, input: object = { order: '42' }) {
  const { rig } = holder;
  const text = `[[tool: ${tool} ${JSON.stringify(input)}]] [[reply: done]]`;
  const sent = await rig.post(`/v1/sessions/${session}/messages`, { text, ...more });
  expect(sent.status).toBe(202);
  await rig.work(session);
  const messageId = sent.body.message.id as string;
  const { why, turnId, status } = (await rig.get(`/v1/messages/${messageId}`)).body;
  return { messageId, why, turnId, status, id: why?.by as string };
}

const messageOf = async (id: string) => (await holder.rig.get(`/v1/messages/${id}`)).body;
const answer = (id: string, body: object, headers: Record<string, string> = {}) =>
  holder.rig.post(`/v1/tool-calls/${id}/result`, body, headers);

/** The results that the model was given. */
async function resultsOf(turnId: string): Promise<string> {
  return JSON.stringify(await readEntries(holder.rig, { turnId, kind: 'results' }, 'content'));
}

describe('a call of a tool that another program runs', () => {
  test('waits for its result, which the first answer gives; a later one is answered 409, and the same key as before', async () => {
    const { rig } = holder;
    const { messageId, turnId, why, id } = await call('plain');
    expect(why).toMatchObject({ code: 'external_tool', by: toolCallId({ turnId, step: 1, ordinal: 1 }) });
    expect((await rig.get(`/v1/tool-calls/${id}`)).body).toMatchObject({
      id,
      status: 'waiting',
      tool: 'refund',
      input: { order: '42' },
      sessionKey: 'agent:main:plain',
      endedAt: null,
    });
    const key = { 'idempotency-key': 'result-1' };
    const first = await answer(id, { content: 'refunded [[reply: no]]' }, key);
    expect(first).toMatchObject({ status: 200, body: { status: 'answered' } });
    expect((await answer(id, { content: 'refunded [[reply: no]]' }, key)).body).toEqual(first.body);
    expect(await answer(id, { content: 'again' })).toMatchObject({ status: 409, body: { code: 'already_decided' } });
    await rig.work('plain');
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered', reply: 'done' });
    expect(await resultsOf(turnId)).toMatch(/Result of refund [0-9a-f]{12}: written by others.*refunded/);
    expect((await rig.get(`/v1/tool-calls/${id}`)).body.status).toBe('answered');
  });

  test('is found by a program that was down, in pages, oldest first, until it has its result', async () => {
    const { rig } = holder;
    const tool = { name: 'ship', description: 'Ships.', inputSchema: { type: 'object' }, timeout: '2h' };
    const more = { tools: { external: [tool] } };
    const calls: Awaited<ReturnType<typeof call>>[] = [];
    for (const session of ['first', 'second', 'third']) calls.push(await call(session, 'ship', more, { session }));
    await call('other-tool');
    const list = async (query = '') => (await rig.get(`/v1/tool-calls?status=waiting&tool=ship${query}`)).body;
    const { items, nextCursor } = await list('&limit=2');
    expect(items).toMatchObject(['first', 'second'].map((session, at) => ({ id: calls[at]?.id, input: { session } })));
    expect(items[0]).toEqual((await rig.get(`/v1/tool-calls/${calls[0]?.id}`)).body);
    const rest = await list(`&limit=2&cursor=${nextCursor}`);
    expect(rest).toMatchObject({ items: [{ id: calls[2]?.id, status: 'waiting' }], nextCursor: null });

    await answer(calls[0]!.id, { content: 'shipped' });
    await changeToolCalls(rig, { turnId: calls[1]!.turnId }, { heldUntil: ago('1 second') });
    expect((await list()).items).toMatchObject([{ id: calls[2]?.id }]);
    const all = (await rig.get('/v1/tool-calls')).body.items as { tool: string }[];
    expect(all.map((one) => one.tool)).toContain('refund');
    expect((await rig.get('/v1/tool-calls?status=answered')).status).toBe(400);
  });

  test('that has failed is an error for the model', async () => {
    const { turnId, id } = await call('failing');
    await answer(id, { content: 'no such order', isError: true });
    await holder.rig.work('failing');
    expect(await resultsOf(turnId)).toMatch(/no such order.*"is_error":\s?true/);
  });

  test('whose time is over is answered 410, and the model reads that no result has come', async () => {
    const { rig } = holder;
    const { messageId, turnId, id } = await call('late');
    await changeToolCalls(rig, { turnId }, { heldUntil: ago('1 second') });
    expect(await answer(id, { content: 'too late' })).toMatchObject({ status: 410, body: { code: 'expired' } });
    await changeDoorbells(rig, { sessionId: await rig.turns.sessionOf('late') }, { dueAt: now });
    await rig.work('late');
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered' });
    expect(await resultsOf(turnId)).toContain('no result has come in time');
    expect((await rig.get(`/v1/tool-calls/${id}`)).body.status).toBe('expired');
  });

  test('ends with its turn, and one that does not exist is answered 404', async () => {
    const { rig } = holder;
    const { turnId, id } = await call('stopped');
    await rig.post('/v1/sessions/stopped/abort', {});
    await rig.work('stopped');
    expect(await answer(id, { content: 'x' })).toMatchObject({ status: 409, body: { code: 'already_decided' } });
    expect((await rig.get(`/v1/tool-calls/${id}`)).body.status).toBe('cancelled');
    expect(await resultsOf(turnId)).toContain('may or may not have taken effect');
    for (const other of [toolCallId({ turnId: newId(), step: 1, ordinal: 1 }), 'call_1', newId()])
      expect((await answer(other, { content: 'x' })).status).toBe(404);
  });

  test('is sent to the webhook once, and is an event', async () => {
    const { rig } = holder;
    const { id, turnId } = await call('webhook');
    await runExternalToolRound(rig.context.service);
    await runExternalToolRound(rig.context.service);
    const { items } = (await rig.get('/v1/deliveries?session=webhook')).body;
    expect(items).toMatchObject([
      { target: { url }, payload: { type: 'tool.requested', toolCall: { id, input: { order: '42' } } } },
    ]);
    const events = await readEvents(rig, { turnId, type: 'tool.requested' }, 'data');
    expect(events).toMatchObject([{ data: { toolCallId: id, name: 'refund', expiresInMs: 7_200_000 } }]);
  });

  test('that does not wait any more is not sent to the webhook', async () => {
    const { rig } = holder;
    const { id } = await call('unsent');
    await answer(id, { content: 'at once' });
    await runExternalToolRound(rig.context.service);
    expect((await rig.get('/v1/deliveries?session=unsent')).body.items).toEqual([]);
  });

  test('waits for an approval first, and then for its result', async () => {
    const { rig } = holder;
    const { messageId, why } = await call('approved', 'asked', {}, {});
    expect(why.code).toBe('approval');
    await rig.post(`/v1/approvals/${why.by}/approve`, {});
    await rig.work('approved');
    const waiting = (await messageOf(messageId)).why;
    expect(waiting.code).toBe('external_tool');
    expect((await answer(waiting.by, { content: 'fine' })).status).toBe(200);
    await rig.work('approved');
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered', reply: 'done' });
  });

  test('with an input that does not fit its schema is an error at once', async () => {
    const { turnId, status } = await call('unfit', 'refund', {}, { order: 42 });
    expect(status).toBe('answered');
    expect(await resultsOf(turnId)).toContain('/order must be string');
  });
});

describe('a message', () => {
  test('brings tools for its turn alone', async () => {
    const { rig } = holder;
    const { id, messageId } = await call('own', 'lookup', { tools: { external: [lookup] } });
    await answer(id, { content: 'found' });
    await rig.work('own');
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered' });
    const next = await call('own', 'lookup');
    expect(next.status).toBe('answered');
    expect(await resultsOf(next.turnId)).toContain('Unknown tool');
  });

  test('brings no tool that a policy of the agent denies, and may name its own in its policy', async () => {
    const denied = { ...lookup, name: 'denied_lookup' };
    const { status } = await call('denied', 'denied_lookup', { tools: { external: [denied] } });
    expect(status).toBe('answered');
    const { why } = await call('allowed', 'lookup', { tools: { allow: ['lookup'], external: [lookup] } });
    expect(why.code).toBe('external_tool');
  });

  test.each([
    ['the name of a tool', { ...lookup, name: 'Exec' }, 'tools.external[0].name', 'a name that no other tool has'],
    ['the name of one of the configuration', { ...lookup, name: 'REFUND' }, 'tools.external[0].name', 'no other tool'],
    ['a name that no model takes', { ...lookup, name: 'look up' }, 'tools.external[0].name', 'expected a letter'],
    [
      'a schema of a list',
      { ...lookup, inputSchema: { type: 'array' } },
      'tools.external[0].inputSchema.type',
      'the input of a tool is a JSON object',
    ],
    ['no description', { ...lookup, description: '' }, 'tools.external[0].description', ''],
  ])('with %s is refused', async (_, tool, path, message) => {
    const response = await holder.rig.post('/v1/sessions/refused/messages', { text: 'x', tools: { external: [tool] } });
    expect(response.status).toBe(400);
    expect(JSON.stringify(response.body)).toContain(path);
    expect(JSON.stringify(response.body)).toContain(message);
  });

  test('with two tools of one name is refused', async () => {
    const tools = { external: [lookup, { ...lookup, name: 'LOOKUP' }] };
    const response = await holder.rig.post('/v1/sessions/refused/messages', { text: 'x', tools });
    expect(JSON.stringify(response.body)).toContain('tools.external[1].name');
  });
});
