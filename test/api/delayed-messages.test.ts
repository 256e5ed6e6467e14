// Messages with `deliverAt`, from their acceptance to their turn. The tests change times in the
// rows: the database decides what is due.
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { deliverDue } from '../../src/kernel/use-cases/deliver-delayed.ts';
import { addInputs, changeInputs, readInputs, removeInputs } from '../rows/inputs.ts';
import { changeSessions } from '../rows/sessions.ts';
import { ago } from '../rows/table.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig({ limits: { waitingPerSession: 3 } });
let numbers = 0;

function newSession(): string {
  numbers += 1;
  return `delayed-${numbers}`;
}

const LATER = '2099-01-01T00:00:00.000Z';
const pathOf = (session: string): string => `/v1/sessions/${session}/messages`;

/** Makes these messages due, in this order. */
async function becomeDue(...ids: string[]): Promise<void> {
  for (const [at, id] of ids.entries())
    await changeInputs(holder.rig, { id }, { deliverAt: ago(`${60 - at} seconds`) });
}

const deliver = () => deliverDue(holder.rig.context.service);

describe('a message with deliverAt', () => {
  test('waits as delayed, holds back no other message, and is answered once its time has come (G1)', async () => {
    const { rig } = holder;
    const session = newSession();
    const { status, body } = await rig.post(pathOf(session), { text: '[[reply: Tea.]]', deliverAt: LATER });
    expect(status).toBe(202);
    const path = `/v1/messages/${body.message.id}`;
    expect((await rig.get(path)).body).toMatchObject({
      status: 'waiting',
      why: { code: 'delayed', until: LATER, by: null },
    });
    expect((await rig.get(`/v1/messages?status=waiting`)).body.items.map(({ id }: { id: string }) => id)).toContain(
      body.message.id,
    );
    await deliver();
    await rig.work(session);
    expect((await rig.get(path)).body.status).toBe('waiting');

    await rig.post(pathOf(session), { text: '[[reply: First.]]' });
    await rig.work(session);
    await becomeDue(body.message.id);
    await deliver();
    const arrived = (await rig.get(path)).body;
    expect(arrived).toMatchObject({ status: 'waiting', seq: 3, why: { code: 'no_worker' } });
    await rig.work(session);
    expect((await rig.get(path)).body).toMatchObject({ status: 'answered', reply: 'Tea.' });
  });

  test('is listed and counted by GET /v1/waiting with its session and lane, after the messages that have arrived', async () => {
    const { rig } = holder;
    const session = newSession();
    const send = async (more: object): Promise<string> =>
      (await rig.post(pathOf(session), { text: 'x', ...more })).body.message.id;
    const later = await send({ deliverAt: LATER });
    const sooner = await send({ deliverAt: '2098-01-01T00:00:00Z' });
    const arrived = await send({});
    const delayed = { lane: 'main', status: 'waiting', why: { code: 'delayed', until: LATER, by: null } };
    for (const filter of [`session=${session}`, `session=${session}&lane=main`])
      expect((await rig.get(`/v1/waiting?${filter}`)).body).toMatchObject({
        items: [
          { id: later, position: 3, ...delayed },
          { id: sooner, position: 2, why: { code: 'delayed' } },
          { id: arrived, position: 1, why: { code: 'no_worker' } },
        ],
        count: 3,
      });
    const first = (await rig.get('/v1/waiting?lane=main&limit=1')).body;
    const rest = (await rig.get(`/v1/waiting?lane=main&cursor=${first.nextCursor}`)).body;
    const ids = [...first.items, ...rest.items].map(({ id }: { id: string }) => id);
    expect(ids).toEqual(ids.toSorted());
    expect(ids).toEqual(expect.arrayContaining([later, sooner, arrived]));
    expect(rest.count).toBe(ids.length);
    expect((await rig.get(`/v1/waiting?lane=cron`)).body).toMatchObject({ items: [], count: 0 });
    expect((await rig.get(`/v1/waiting?batch=${randomUUID()}`)).body).toMatchObject({ items: [], count: 0 });
    await rig.work(session);
  });

  test('arrives in the order of the times, each once, when several schedulers look at the same time (G3)', async () => {
    const { rig } = holder;
    const session = newSession();
    const ids: string[] = [];
    for (const text of ['c', 'b', 'a'])
      ids.push((await rig.post(pathOf(session), { text, deliverAt: LATER })).body.message.id);
    await becomeDue(...ids.toReversed());
    await Promise.all([deliver(), deliver(), deliver()]);
    const rows = await readInputs(rig, { sessionKey: `agent:main:${session}` }, 'text', 'status');
    expect(rows).toEqual(['a', 'b', 'c'].map((text) => ({ text, status: 'waiting' })));
    expect((await rig.get(`/v1/sessions/${session}`)).body.waitingMessages).toBe(3);
    // A fourth does not fit, and arrives when there is room.
    const { body } = await rig.post(pathOf(session), { text: 'd', deliverAt: LATER });
    await becomeDue(body.message.id);
    await deliver();
    expect((await rig.get(`/v1/messages/${body.message.id}`)).body.why.code).toBe('delayed');
    await rig.work(session);
    await deliver();
    await rig.work(session);
    expect((await rig.get(`/v1/messages/${body.message.id}`)).body.status).toBe('answered');
  });

  test('is not held up by more than a hundred messages whose session is full', async () => {
    const { rig } = holder;
    const full = newSession();
    const first = await rig.post(pathOf(full), { text: 'a', deliverAt: LATER });
    const [input] = await readInputs(rig, { id: first.body.message.id }, 'sessionId', 'seq', 'body', 'route');
    const due = { ...input, status: 'delayed', deliverAt: ago('1 hour') };
    await addInputs(rig, ...Array.from({ length: 150 }, (_, n) => ({ ...due, seq: input!.seq + n + 1 })));
    await changeSessions(rig, { key: `agent:main:${full}` }, { inboxSeq: 200, waiting: 3 });
    const session = newSession();
    const { body } = await rig.post(pathOf(session), { text: 'b', deliverAt: LATER });
    await becomeDue(body.message.id);
    await deliver();
    expect((await rig.get(`/v1/messages/${body.message.id}`)).body.why.code).toBe('no_worker');
    await removeInputs(rig, { status: 'delayed', text: 'a' });
  });

  test('is stored once per key and platform id, and can be cancelled (G2)', async () => {
    const { rig } = holder;
    const session = newSession();
    const message = { text: 'x', messageId: 'p-1', chatId: session, deliverAt: LATER };
    const key = { 'idempotency-key': randomUUID() };
    const first = await rig.post(pathOf(session), message, key);
    expect((await rig.post(pathOf(session), message, key)).body).toEqual(first.body);
    expect((await rig.post(pathOf(session), message)).body).toMatchObject({
      disposition: 'duplicate',
      message: { id: first.body.message.id },
    });
    const cancelled = await rig.post('/v1/bulk-actions', {
      action: 'cancel',
      target: 'messages',
      ids: [first.body.message.id],
      dryRun: true,
    });
    expect(cancelled.body.total).toBe(1);
  });

  test('in the past is an ordinary message, and a chat command cannot be delayed', async () => {
    const { rig } = holder;
    const session = newSession();
    const now = await rig.post(pathOf(session), { text: 'now', deliverAt: '2020-01-01T00:00:00Z' });
    expect(now.body.session.waitingMessages).toBe(1);
    expect(await rig.post(pathOf(session), { text: '/stop', deliverAt: LATER })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'deliverAt' }] },
    });
  });
});

test('a message with a priority rings with it, also when it was delayed', async () => {
  const { rig } = holder;
  const session = newSession();
  const { body } = await rig.post(pathOf(session), { text: 'urgent', priority: 5 });
  expect(rig.rings.at(-1)).toMatchObject({ kind: 'inbound', sessionId: body.session.id, priority: 5 });
  const other = newSession();
  const later = (await rig.post(pathOf(other), { text: 'whenever', priority: -3, deliverAt: LATER })).body;
  await becomeDue(later.message.id);
  await deliver();
  expect(rig.rings.at(-1)).toMatchObject({ sessionId: later.session.id, priority: -3 });
  const plain = (await rig.post(pathOf(newSession()), { text: 'as ever' })).body;
  expect(rig.rings.at(-1)).toEqual({
    kind: 'inbound',
    lane: 'main',
    sessionId: plain.session.id,
    ringNo: expect.any(Number),
  });
  const refused = await rig.post(pathOf(session), { text: 'x', priority: 11 });
  expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'priority' }] } });
});
