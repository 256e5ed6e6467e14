// Goal: answers to a key with a scope contain its own name, and no names of other keys, of processes
// or of sessions outside (G44).
import { beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { ROUTES } from '../../scripts/all-routes.ts';
import { liveEvent } from '../../src/contract/events.ts';
import { newId } from '../../src/ids.ts';
import { addDeadLetters } from '../rows/dead-letters.ts';
import { addDeliveries } from '../rows/deliveries.ts';
import { addEvents, idInTransaction } from '../rows/events.ts';
import { changeEntries } from '../rows/entries.ts';
import { addInputs } from '../rows/inputs.ts';
import { readSessions } from '../rows/sessions.ts';
import { openEvents } from './event-client.ts';
import { eventually, useApiRig } from './use-api-rig.ts';

const holder = useApiRig();
let secret = '';

beforeAll(async () => {
  const made = { name: 'shop', role: 'operator', sessions: ['agent:main:shop:*'] };
  secret = (await holder.rig.post('/v1/keys', made)).body.key;
});

const headers = () => ({ authorization: `Bearer ${secret}` });
const ask = async (url: string) => (await holder.rig.get(url, headers())).body;

test('a turn does not name its worker, nor who else judged it', async () => {
  const { rig } = holder;
  const { turnId } = await rig.settle('shop:1', 'hello');
  await rig.post(`/v1/turns/${turnId}/scores`, { score: 'helpful', value: true });
  await rig.post(`/v1/turns/${turnId}/scores`, { score: 'helpful', value: true, by: 'Ada' });
  const all = (await rig.get(`/v1/turns/${turnId}`)).body;
  expect(all.scores.map(({ by }: { by: string }) => by)).toEqual(['Ada', 'admin']);
  const shown = await ask(`/v1/turns/${turnId}`);
  expect(shown).toEqual({
    ...all,
    worker: null,
    workerTitle: null,
    attempts: all.attempts.map((one: object) => ({ ...one, worker: null })),
    scores: all.scores.map((one: { by: string }) => (one.by === 'admin' ? { ...one, by: null } : one)),
  });
  expect(JSON.stringify(await ask('/v1/turns?session=shop:1'))).not.toContain(all.worker);
});

test('a message that waits for a pause does not say who has paused, nor why', async () => {
  const { rig } = holder;
  const sent = await rig.post('/v1/sessions/shop:2/messages', { text: 'hello' });
  await rig.post('/v1/pause', { session: 'shop:2', reason: 'a new prompt' });
  const url = `/v1/messages/${sent.body.message.id}`;
  expect((await rig.get(url)).body.why).toMatchObject({ code: 'paused', by: 'admin' });
  const { why } = await ask(url);
  expect(why).toMatchObject({ code: 'paused', by: null });
  for (const secret of ['admin', 'a new prompt']) expect(why.text).not.toContain(secret);
  expect((await ask('/v1/sessions/shop:2')).why.by).toBeNull();
  expect((await ask('/v1/waiting?session=shop:2')).items[0].why.by).toBeNull();
  await rig.post('/v1/resume', { session: 'shop:2' });
});

test('an event does not name who has decided, unless it is the key itself; stored and live', async () => {
  const { rig } = holder;
  await rig.settle('shop:3', 'hello');
  const [session] = await readSessions(rig, { key: 'agent:main:shop:3' }, 'id');
  const sessionId = String(session!['id']);
  const url = `${await rig.listen()}/v1/events?types=approval.decided&session=shop:3`;
  const live = await openEvents(url, undefined, secret);
  await eventually(() => live.lastId()).not.toBe('');
  for (const decidedBy of ['admin', 'key:shop']) {
    const data = { approvalId: newId<string>(), tool: 'exec', status: 'approved', decidedBy };
    await addEvents(rig, { id: idInTransaction(1), sessionId, type: 'approval.decided', data });
  }
  const stored = await openEvents(url, '0', secret);
  for (const client of [live, stored]) {
    const events = await client.until(({ length }) => length >= 2);
    expect(events.map(({ data }) => data['decidedBy'])).toEqual([null, 'key:shop']);
  }
});

test('an export does not say which keys and sessions have sent its messages', async () => {
  const { rig } = holder;
  await rig.settle('shop:4', 'hello');
  await rig.settle('office:4', 'hello');
  await rig.post('/v1/sessions/shop:4/messages', { text: 'mine' }, headers());
  const [session] = await readSessions(rig, { key: 'agent:main:shop:4' }, 'id');
  const sessionId = String(session!['id']);
  for (const [n, sourceSession] of ['agent:main:office:4', 'agent:main:shop:1'].entries()) {
    const provenance = { kind: 'inter_session', sourceSession, sourceTool: 'sessions_send' };
    const exchange = { origin: { route: 'a secret', deliver: { url: 'https://office.example' } } };
    await addInputs(rig, { sessionId, seq: 100 + n, status: 'waiting', body: { text: 'psst', provenance, exchange } });
  }
  const bodies = String(await ask('/v1/sessions/shop:4/export'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; body: Record<string, unknown> })
    .flatMap(({ type, body }) => (type === 'message' ? [body] : []));
  expect(bodies.map(({ text }) => text)).toEqual(['hello', 'mine', 'psst', 'psst']);
  for (const field of ['sentBy', 'provenance', 'exchange']) expect(JSON.stringify(bodies)).not.toContain(field);
  expect(JSON.stringify(bodies)).not.toContain('office');
});

test('what a tool was given keeps its fields, whatever their names', async () => {
  const { rig } = holder;
  const input = { worker: 'Ada', decidedBy: 'Bob', by: 'admin' };
  await rig.settle('shop:5', `[[tool: echo ${JSON.stringify(input)}]] [[reply: done]]`);
  const { items } = await ask('/v1/sessions/shop:5/transcript');
  const blocks = items.flatMap(({ content }: { content: { type: string; input?: object }[] }) => content);
  expect(blocks.find(({ type }: { type: string }) => type === 'tool_use').input).toEqual(input);
});

test('a model request does not name the session outside whose words it has', async () => {
  const { rig } = holder;
  await rig.settle('office:6', 'hello');
  const { turnId } = await rig.settle('shop:6', 'hello');
  const provenance = { kind: 'inter_session', sourceSession: 'agent:main:office:6', sourceTool: 'sessions_send' };
  await changeEntries(rig, { turnId, kind: 'prompt' }, { provenance, parts: null });
  const url = `/v1/turns/${turnId}/requests/1`;
  const originsIn = (text: string) => [...text.matchAll(/"origin":"(session[^"]*)"/g)].map(([, origin]) => origin);
  const all = JSON.stringify((await rig.get(url)).body);
  expect(new Set(originsIn(all))).toEqual(new Set(['session:agent:main:office:6']));
  expect(originsIn(JSON.stringify(await ask(url)))).toEqual(originsIn(all).map(() => 'session'));
});

test('a delivery and its dead letter do not say where it is sent, nor what the receiver has answered', async () => {
  const { rig } = holder;
  const { turnId } = await rig.settle('shop:7', 'hello');
  const [session] = await readSessions(rig, { key: 'agent:main:shop:7' }, 'id');
  const sessionId = String(session!['id']);
  const id = newId<string>();
  const target = { url: 'https://hooks.office.example/all' };
  const lastError = 'connect ECONNREFUSED 10.1.2.3:443';
  await addDeliveries(rig, { id, sessionId, turnId, seq: 900, status: 'failed', target, lastError });
  const letter = {
    id: newId<string>(),
    kind: 'delivery',
    sessionId,
    deliveryId: id,
    code: 'http_500',
    reason: lastError,
  };
  await addDeadLetters(rig, letter);
  const url = `/v1/deliveries/${id}`;
  expect((await rig.get(url)).body).toMatchObject({ target, lastError });
  expect(await ask(url)).toMatchObject({ id, target: null, lastError: null });
  const listed = await ask('/v1/deliveries?session=shop:7');
  const letters = await ask('/v1/dead-letters?code=http_500');
  expect(letters.items).toMatchObject([{ letters: [{ id: letter.id }] }]);
  for (const answer of [listed, letters]) expect(JSON.stringify(answer)).not.toMatch(/office|10\.1/);
  // Nor is a part of it confirmed by a search.
  expect((await rig.get('/v1/deliveries?q=ECONNREFUSED')).body.items).toMatchObject([{ id }]);
  expect((await ask('/v1/deliveries?q=ECONNREFUSED')).items).toEqual([]);
});

test('every answer is of schemas whose guarded fields are found', () => {
  const LEAVES = ['string', 'number', 'boolean', 'enum', 'literal', 'null', 'never', 'unknown'];
  const walk = (schema: z.ZodType, above: readonly z.ZodType[]): void => {
    expect(above).not.toContain(schema);
    const def = schema._zod.def as unknown as { type: string } & Record<string, z.ZodType>;
    const parts = (): z.ZodType[] => {
      switch (def.type) {
        case 'object':
          return Object.values(def['shape']!) as z.ZodType[];
        case 'array':
          return [def['element']!];
        case 'record':
          return [def['valueType']!];
        case 'union':
          return def['options'] as unknown as z.ZodType[];
        case 'optional':
        case 'nullable':
        case 'readonly':
          return [def['innerType']!];
        default:
          expect(LEAVES).toContain(def.type);
          return [];
      }
    };
    for (const part of parts()) walk(part, [...above, schema]);
  };
  const schemas = ROUTES.flatMap(({ answers }) => Object.values(answers).flatMap(({ schema }) => schema ?? []));
  expect(schemas.length).toBeGreaterThan(100);
  for (const schema of [...schemas, liveEvent]) walk(schema, []);
});
