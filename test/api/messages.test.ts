import { describe, expect, onTestFinished, test } from 'vitest';
import { readInputs } from '../rows/inputs.ts';
import { ADMIN_KEY } from './api-rig.ts';
import { eventually, useApiRig } from './use-api-rig.ts';

const holder = useApiRig({ limits: { waitingPerSession: 5 }, keys: [{ name: 'ops', key: 'second-key-of-ops' }] });
let numbers = 0;

/** A session that no other test uses. */
function newSession(): string {
  numbers += 1;
  return `messages-${numbers}`;
}

function pathOf(session: string): string {
  return `/v1/sessions/${session}/messages`;
}

describe('an inbound message', () => {
  test('is answered 202 with the message, the session and the disposition, after its row is stored (G1)', async () => {
    const { rig } = holder;
    const session = newSession();
    const answer = await rig.post(pathOf(session), { text: 'hello', sender: { name: 'Ada' } });
    expect(answer.status).toBe(202);
    expect(answer.headers['location']).toBe(`/v1/messages/${answer.body.message.id}`);
    expect(answer.body).toMatchObject({
      message: { sessionKey: `agent:main:${session}`, seq: 1, kind: 'message', text: 'hello', status: 'waiting' },
      session: { key: `agent:main:${session}`, status: 'waiting', waitingMessages: 1 },
      disposition: 'queued',
    });
    const rows = await readInputs(rig, { id: answer.body.message.id }, 'body', 'status');
    expect(rows).toEqual([{ body: { text: 'hello', sender: { name: 'Ada' } }, status: 'waiting' }]);
    expect((await rig.get(`/v1/messages/${answer.body.message.id}`)).body).toEqual({
      ...answer.body.message,
      title: 'hello',
      sessionTitle: 'Ada',
      why: expect.objectContaining({ code: 'no_worker' }),
    });
  });

  test('ignores the trace in its request, unless the configuration trusts it', async () => {
    const { rig } = holder;
    const header = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    const { body } = await rig.post(pathOf(newSession()), { text: 'hello' }, header);
    const rows = await readInputs(rig, { id: body.message.id }, 'traceparent');
    expect(rows).toEqual([{ traceparent: null }]);
  });

  test('rings its session once, however many wait', async () => {
    const { rig } = holder;
    const session = newSession();
    const first = await rig.post(pathOf(session), { text: 'one' });
    await rig.post(pathOf(session), { text: 'two' });
    const rings = rig.rings.filter((ring) => ring.sessionId === first.body.session.id);
    expect(rings).toMatchObject([{ kind: 'inbound', lane: 'main' }]);
  });

  test('shows its reply and its turn once it is answered', async () => {
    const { rig } = holder;
    const session = newSession();
    const { body } = await rig.post(pathOf(session), { text: '[[reply: good morning]]' });
    await rig.work(session);
    const message = (await rig.get(`/v1/messages/${body.message.id}`)).body;
    expect(message).toMatchObject({ status: 'answered', reply: 'good morning', error: null });
    expect((await rig.get(`/v1/turns/${message.turnId}`)).body.reply).toBe('good morning');
  });

  test('takes times as ISO 8601 or as epoch milliseconds', async () => {
    const { rig } = holder;
    const session = newSession();
    await rig.post(pathOf(session), { text: 'a', timestamp: '2026-02-27T01:56:00+01:00' });
    await rig.post(pathOf(session), { text: 'b', timestamp: 1_772_153_760_000 });
    const inputs = await readInputs(rig, { sessionKey: `agent:main:${session}`, text: ['a', 'b'] }, 'body');
    const at = { body: expect.objectContaining({ timestamp: 1_772_153_760_000 }) };
    expect(inputs).toEqual([at, at]);
  });

  test('over the cap of its session is refused with 429 and Retry-After, and not written (G27)', async () => {
    const { rig } = holder;
    const session = newSession();
    for (let n = 1; n <= 5; n += 1) expect((await rig.post(pathOf(session), { text: `m${n}` })).status).toBe(202);
    const refused = await rig.post(pathOf(session), { text: 'm6' });
    expect(refused).toMatchObject({ status: 429, body: { code: 'inbox_full' } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await rig.get(`/v1/sessions/${session}`)).body.waitingMessages).toBe(5);
  });

  test('for an agent that is not configured is 404', async () => {
    const answer = await holder.rig.post(pathOf('agent:nobody:main'), { text: 'hi' });
    expect(answer).toMatchObject({ status: 404, body: { code: 'unknown_agent' } });
  });

  test('with the platform id of an earlier one is that message, without a time limit (G2)', async () => {
    const { rig } = holder;
    const session = newSession();
    const body = { text: 'hi', channel: 'telegram', chatId: '42', messageId: '7' };
    const first = await rig.post(pathOf(session), body);
    await rig.work(session);
    const again = await rig.post(pathOf(session), { ...body, text: 'hi again' });
    expect(again).toMatchObject({
      status: 202,
      body: { disposition: 'duplicate', message: { id: first.body.message.id } },
    });
    const elsewhere = await rig.post(pathOf(session), { ...body, chatId: '43' });
    expect(elsewhere.body.disposition).toBe('queued');
  });
});

describe('an Idempotency-Key', () => {
  test('makes one message of twenty equal simultaneous requests (G2)', async () => {
    const { rig } = holder;
    const session = newSession();
    const send = () => rig.post(pathOf(session), { text: 'once' }, { 'idempotency-key': 'k-1' });
    const answers = await Promise.all(Array.from({ length: 20 }, send));
    expect(new Set(answers.map((answer) => answer.body.message.id)).size).toBe(1);
    expect(answers.every((answer) => answer.status === 202)).toBe(true);
    expect(answers.filter((answer) => answer.headers['idempotent-replayed'] === 'true')).toHaveLength(19);
    expect((await rig.get(`/v1/sessions/${session}`)).body.waitingMessages).toBe(1);
  });

  test('returns the first answer also long after the message was answered', async () => {
    const { rig } = holder;
    const session = newSession();
    const headers = { 'idempotency-key': 'k-2' };
    const first = await rig.post(pathOf(session), { text: 'one', sender: { id: '1', name: 'x' } }, headers);
    await rig.work(session);
    const again = await rig.post(pathOf(session), { sender: { name: 'x', id: '1' }, text: 'one' }, headers);
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(first.headers['idempotent-replayed']).toBeUndefined();
  });

  test('with another body is 422 and writes nothing', async () => {
    const { rig } = holder;
    const session = newSession();
    const headers = { 'idempotency-key': 'k-3' };
    await rig.post(pathOf(session), { text: 'one' }, headers);
    const other = await rig.post(pathOf(session), { text: 'two' }, headers);
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
    expect((await rig.get(`/v1/sessions/${session}`)).body.waitingMessages).toBe(1);
  });

  test('returns the first answer also when the platform id is a duplicate', async () => {
    const { rig } = holder;
    const session = newSession();
    const send = () => rig.post(pathOf(session), { text: 'a', messageId: 'p-1' }, { 'idempotency-key': 'k-6' });
    const first = await send();
    const again = await send();
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
  });

  test('of one API key has no effect on another key (G32)', async () => {
    const { rig } = holder;
    const session = newSession();
    await rig.post(pathOf(session), { text: 'mine' }, { 'idempotency-key': 'k-4' });
    const other = await rig.post(
      pathOf(session),
      { text: 'theirs' },
      { 'idempotency-key': 'k-4', authorization: 'Bearer second-key-of-ops' },
    );
    expect(other.status).toBe(202);
    expect(other.headers['idempotent-replayed']).toBeUndefined();
  });

  test.each([[' '], ['a b'], ['ü'], ['x'.repeat(201)]])('that is %j is 400', async (key) => {
    const answer = await holder.rig.post(pathOf(newSession()), { text: 'x' }, { 'idempotency-key': key });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_header' } });
  });
});

describe('Prefer: wait', () => {
  test('is answered by a statement that is planned once, however often it is sent', async () => {
    const { rig } = holder;
    const session = newSession();
    const send = () =>
      rig.post(pathOf(session), { text: '[[reply: done]]' }, { prefer: 'wait=20', 'idempotency-key': session });
    const waiting = send();
    await eventually(() => rig.work(session)).toMatchObject({ kind: 'ended' });
    const first = await waiting;
    for (let times = 0; times < 8; times += 1) expect((await send()).body).toEqual(first.body);
    const { rows } = await rig.turns.database.hot.query(
      `select custom_plans::int, generic_plans::int from pg_prepared_statements where name = 'settlements'`,
    );
    expect(rows).toMatchObject([{ custom_plans: 0 }]);
  });

  test('answers 200 with message, turn and reply when a worker elsewhere settles it', async () => {
    const { rig } = holder;
    const session = newSession();
    const waiting = rig.post(pathOf(session), { text: '[[reply: done]]' }, { prefer: 'wait=20' });
    // No commit wakes this process: the worker has its own wake.
    await eventually(() => rig.work(session)).toMatchObject({ kind: 'ended' });
    const answer = await waiting;
    expect(answer).toMatchObject({
      status: 200,
      body: { message: { status: 'answered', reply: 'done' }, turn: { status: 'completed' }, reply: 'done' },
    });
    expect(answer.headers['preference-applied']).toBe('wait=20');
    expect(answer.body.turn.steps).toHaveLength(1);
  });

  test('answers in the 202 form when the wait ends first', async () => {
    const { rig } = holder;
    const answer = await rig.post(pathOf(newSession()), { text: 'nobody works' }, { prefer: 'respond-async, wait=1' });
    expect(answer).toMatchObject({ status: 202, body: { message: { status: 'waiting' }, disposition: 'queued' } });
  });

  test('on a repeated request waits for the same message', async () => {
    const { rig } = holder;
    const session = newSession();
    const headers = { 'idempotency-key': 'k-5', prefer: 'wait=20' };
    const first = rig.post(pathOf(session), { text: '[[reply: same]]' }, headers);
    const second = rig.post(pathOf(session), { text: '[[reply: same]]' }, headers);
    await eventually(() => rig.work(session)).toMatchObject({ kind: 'ended' });
    const [one, other] = await Promise.all([first, second]);
    expect(one.body).toEqual(other.body);
    expect([one.status, other.status]).toEqual([200, 200]);
  });

  test('removes its waiter when the client disconnects', async () => {
    const { rig } = holder;
    const url = await rig.listen();
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    const session = newSession();
    const request = fetch(`${url}${pathOf(session)}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json', prefer: 'wait=60' },
      body: JSON.stringify({ text: 'bye' }),
      signal: leaving.signal,
    });
    const waiters = async (): Promise<string | undefined> =>
      /^holdfast_waiting_requests (\d+)/m.exec((await rig.get('/metrics')).body)?.[1];
    await eventually(waiters).toBe('1');
    leaving.abort();
    await expect(request).rejects.toThrow();
    await eventually(waiters).toBe('0');
  });
});

test('messages are listed newest first, by status and by ids', async () => {
  const { rig } = holder;
  const sent: string[] = [];
  for (const text of ['one', 'two', 'three']) {
    sent.push((await rig.post('/v1/sessions/listed/messages', { text })).body.message.id);
  }
  const idsOf = ({ body }: { body: { items: { id: string }[] } }): string[] => body.items.map(({ id }) => id);
  const path = `/v1/messages?ids=${sent.join(',')}`;
  expect(idsOf(await rig.get(path))).toEqual(sent.toReversed());
  const first = await rig.get(`${path}&limit=2`);
  const rest = await rig.get(`${path}&limit=2&cursor=${first.body.nextCursor}`);
  expect([...idsOf(first), ...idsOf(rest)]).toEqual(sent.toReversed());
  expect(idsOf(await rig.get(`${path}&status=answered,failed`))).toEqual([]);
  expect((await rig.get('/v1/messages?ids=x')).status).toBe(400);
});

test('GET /v1/messages of a session shows its messages newest first, each waiting one with its reason', async () => {
  const { rig } = holder;
  const session = newSession();
  const answered = (await rig.post(pathOf(session), { text: 'first' })).body.message.id;
  await rig.work(session);
  const waiting = [];
  for (const text of ['second', 'third']) waiting.push((await rig.post(pathOf(session), { text })).body.message.id);
  const path = `/v1/messages?session=${session}`;
  const first = await rig.get(`${path}&limit=2`);
  expect(first.body.items).toMatchObject(
    waiting.toReversed().map((id) => ({ id, status: 'waiting', why: { code: 'no_worker' } })),
  );
  const rest = await rig.get(`${path}&limit=2&cursor=${first.body.nextCursor}`);
  expect(rest.body).toMatchObject({ items: [{ id: answered, status: 'answered', why: null }], nextCursor: null });
  expect((await rig.get(`${path}&status=answered,failed&ids=${answered},${waiting[0]}`)).body.items).toMatchObject([
    { id: answered },
  ]);
});

test.each(['waiting', 'claimed,waiting', 'answered', 'silent,failed,cancelled,dropped'])(
  'GET /v1/messages?status=%s has exactly the messages with it, page after page',
  async (status) => {
    const { rig } = holder;
    const found: string[] = [];
    let cursor: string | null = '';
    for (let pages = 0; cursor !== null && pages < 100; pages += 1) {
      const page: { body: { items: { id: string }[]; nextCursor: string | null } } = await rig.get(
        `/v1/messages?status=${status}&limit=7${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      found.push(...page.body.items.map(({ id }) => id));
      cursor = page.body.nextCursor;
    }
    const inputs = await readInputs(rig, { status: status.split(',') }, 'id');
    expect(found).toEqual(inputs.map(({ id }) => id).toSorted((a, b) => b.localeCompare(a)));
  },
);
