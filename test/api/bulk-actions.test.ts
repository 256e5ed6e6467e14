// Bulk actions: one decision about many objects, executed by schedulers, with a result for each.
import { describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { carryOutItem } from '../../src/service/bulk-action.ts';
import { leaseBulkItems } from '../../src/store/bulk/bulk-actions.ts';
import { runBulkRound } from '../../src/service/bulk-action.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

const failing = '[[error: 400 message="no"]]';

const round = (): Promise<boolean> =>
  runBulkRound({ ...holder.rig.context.service, logger: holder.rig.context.logger });
const actionOf = async (id: string) => (await holder.rig.get(`/v1/bulk-actions/${id}`)).body;
const itemsOf = async (id: string, query = '') =>
  (await holder.rig.get(`/v1/bulk-actions/${id}/items?limit=200${query}`)).body.items;

async function submit(body: object, headers: Record<string, string> = {}) {
  const answer = await holder.rig.post('/v1/bulk-actions', body, headers);
  expect(answer.status).toBe(202);
  return answer.body;
}

async function workOff(id: string) {
  while ((await actionOf(id)).status === 'running' && (await round()));
  return actionOf(id);
}

/** A session whose turn has failed; the cause is repaired if `isMended`. */
async function failed(session: string, isMended = true): Promise<{ turnId: string; messageId: string }> {
  const { rig } = holder;
  const { body } = await rig.post(`/v1/sessions/${session}/messages`, { text: `${failing} [[reply: ok]]` });
  await rig.work(session);
  const { id: messageId, turnId } = (await rig.get(`/v1/messages/${body.message.id}`)).body;
  if (isMended) {
    await rig.rows(`update holdfast.inbox set body = '{"text": "[[reply: ok]]"}' where id = $1`, [messageId]);
  }
  return { turnId, messageId };
}

/** This many sessions with a failed turn each, inserted as rows. */
async function manyFailed(name: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => [newId<string>(), newId<string>(), newId<string>()]);
  await holder.rig.rows(
    `with new as (select value ->> 0 as session_id, value ->> 1 as turn_id, value ->> 2 as message_id, n
      from json_array_elements($1::json) with ordinality as each (value, n)),
    made_sessions as (insert into holdfast.sessions (id, key, agent_id, kind, lane, inbox_seq)
      select session_id::uuid, 'agent:main:' || $2 || n, 'main', 'main', 'main', 1 from new),
    made_turns as (insert into holdfast.turns (id, session_id, kind, lane, status, epoch, worker, model, prompt_seq, system_sha256,
        tools_sha256, queued_at, claimed_at, ended_at)
      select turn_id::uuid, session_id::uuid, 'message', 'cron', 'failed', 1, 'w', 'm', 1, '', '', now(), now(), now() from new)
    insert into holdfast.inbox (id, session_id, seq, kind, body, route, status, turn_id, settled_at)
    select message_id::uuid, session_id::uuid, 1, 'message', '{"text": "x"}', '', 'failed', turn_id::uuid, now() from new`,
    [JSON.stringify(ids), name],
  );
}

describe('a bulk retry of 1,284 turns', () => {
  test('is submitted once, stopped in the middle, and accounts for every turn', async () => {
    await manyFailed('many-', 1284);
    const filter = { status: ['failed'], lane: 'cron' };
    const dry = await holder.rig.post('/v1/bulk-actions', { action: 'retry', target: 'turns', filter, dryRun: true });
    expect(dry).toMatchObject({ status: 200, body: { total: 1284, ids: { length: 5 } } });

    const body = { action: 'retry', target: 'turns', filter, reason: 'the disk was full' };
    const [action, again] = [
      await submit(body, { 'idempotency-key': 'retry-all' }),
      await submit(body, { 'idempotency-key': 'retry-all' }),
    ];
    expect(again).toEqual(action);
    expect(action).toMatchObject({ status: 'running', total: 1284, done: 0, reason: 'the disk was full', filter });
    // Turns that fail later do not join.
    await manyFailed('later-', 3);

    for (let n = 0; n < 20; n += 1) await round();
    const stopped = (await holder.rig.post(`/v1/bulk-actions/${action.id}/cancel`)).body;
    expect(stopped).toMatchObject({ status: 'cancelled', total: 1284, done: 400, skipped: 884, failed: 0 });
    expect(await round()).toBe(false);
    const [waiting] = await holder.rig.rows(
      `select count(*)::int as n from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id
       where s.key like 'agent:main:many-%' and i.status = 'waiting'`,
    );
    expect(waiting?.['n']).toBe(400);
    const [counts] = await holder.rig.rows(
      `select count(*)::int as n, count(distinct subject)::int as subjects from holdfast.bulk_action_items
       where action_id = $1 and status <> 'pending'`,
      [action.id],
    );
    expect(counts).toEqual({ n: 1284, subjects: 1284 });
    expect(await itemsOf(action.id, '&status=skipped')).toMatchObject(
      Array.from({ length: 200 }, () => ({ reason: 'The action was cancelled.' })),
    );
    const events = await holder.rig.rows(
      `select data from holdfast.events where type = 'bulk.progress' and data ->> 'bulkActionId' = $1 order by id`,
      [action.id],
    );
    expect(events.at(-1)?.['data']).toMatchObject({ status: 'cancelled', done: 400, skipped: 884 });
    await holder.rig.rows(`delete from holdfast.turns where lane = 'cron'`);
  });
});

describe('an item', () => {
  test('that was executed when its scheduler was killed is done, and not done again (G17)', async () => {
    const { turnId, messageId } = await failed('killed-scheduler');
    const action = await submit({ action: 'retry', target: 'turns', ids: [turnId] });
    const { service } = holder.rig.context;
    const [item] = await leaseBulkItems(service.database, { itemsMax: 20, leaseMs: 0 });
    // The result of this scheduler is never stored.
    await carryOutItem(service, item!);
    await holder.rig.work('killed-scheduler');
    expect(await workOff(action.id)).toMatchObject({ status: 'completed', done: 1, skipped: 0 });
    expect(await itemsOf(action.id)).toMatchObject([{ id: turnId, status: 'done', messageIds: [messageId] }]);
    const turns = (await holder.rig.get('/v1/turns?session=killed-scheduler')).body.items;
    expect(turns.map(({ status }: { status: string }) => status)).toEqual(['completed', 'failed']);
  });

  test('that cannot be executed is skipped with the reason', async () => {
    const unknown = newId<string>();
    const action = await submit({ action: 'abort', target: 'turns', ids: [unknown] });
    expect(await workOff(action.id)).toMatchObject({ status: 'completed', done: 0, skipped: 1 });
    expect(await itemsOf(action.id)).toMatchObject([{ id: unknown, reason: 'The turn does not exist.' }]);
  });

  test('is processed by one of two schedulers', async () => {
    await manyFailed('two-', 30);
    const action = await submit({ action: 'retry', target: 'turns', filter: { lane: 'cron', status: ['failed'] } });
    while ((await Promise.all([round(), round()])).includes(true));
    expect(await actionOf(action.id)).toMatchObject({ status: 'completed', done: 30, skipped: 0 });
    await holder.rig.rows(`delete from holdfast.turns where lane = 'cron'`);
  });
});

describe('waiting messages', () => {
  test('are cancelled one by one, unless a worker may be claiming them', async () => {
    const { rig } = holder;
    const { body } = await rig.post('/v1/sessions/crowd/messages', { text: 'one' });
    const second = (await rig.post('/v1/sessions/crowd/messages', { text: 'two' })).body;
    await rig.rows(`update holdfast.sessions set owner = 'a worker' where key = 'agent:main:crowd'`);
    const taken = await submit({ action: 'cancel', target: 'messages', ids: [body.message.id] });
    expect(await workOff(taken.id)).toMatchObject({ done: 0, skipped: 1 });
    await rig.rows(`update holdfast.sessions set owner = null where key = 'agent:main:crowd'`);

    const action = await submit({
      action: 'cancel',
      target: 'messages',
      filter: { session: 'crowd', status: 'waiting' },
    });
    expect(await workOff(action.id)).toMatchObject({ status: 'completed', total: 2, done: 2 });
    for (const { id } of [body.message, second.message]) {
      expect((await rig.get(`/v1/messages/${id}`)).body).toMatchObject({
        status: 'cancelled',
        error: { code: 'cancelled' },
      });
    }
    expect((await rig.get('/v1/sessions/crowd')).body).toMatchObject({ waitingMessages: 0 });
  });
});

describe('dead letters with a canary', () => {
  const letters = async (code: string) =>
    (await holder.rig.get('/v1/dead-letters?limit=200')).body.items.find(
      (group: { code: string }) => group.code === code,
    )?.count ?? 0;

  async function discardAll(): Promise<void> {
    await holder.rig.post('/v1/dead-letters/discard', { kind: 'turn' });
  }

  test('are redriven after the first one was answered', async () => {
    await discardAll();
    const [first, second] = [await failed('canary-1'), await failed('canary-2')];
    const started = await holder.rig.post('/v1/dead-letters/redrive', { kind: 'turn', canary: true, perSecond: 100 });
    expect(started).toMatchObject({ status: 202, body: { target: 'dead-letters', action: 'redrive', total: 2 } });
    await round();
    await round();
    expect(await actionOf(started.body.id)).toMatchObject({ status: 'running', done: 1 });
    expect((await holder.rig.get(`/v1/messages/${second.messageId}`)).body.status).toBe('failed');
    await holder.rig.work('canary-1');
    expect((await holder.rig.get(`/v1/messages/${first.messageId}`)).body.status).toBe('answered');
    await expect.poll(async () => (await round(), (await actionOf(started.body.id)).status)).toBe('completed');
    expect((await holder.rig.get(`/v1/messages/${second.messageId}`)).body.status).toBe('waiting');
  });

  test('stay when the first one fails again', async () => {
    await discardAll();
    await failed('bad-canary-1', false);
    const { messageId } = await failed('bad-canary-2', false);
    const { id } = (await holder.rig.post('/v1/dead-letters/redrive', { kind: 'turn', canary: true })).body;
    await round();
    await holder.rig.work('bad-canary-1');
    await expect.poll(async () => (await round(), (await actionOf(id)).status)).toBe('canary_failed');
    expect(await actionOf(id)).toMatchObject({ total: 2, done: 1, skipped: 1 });
    expect((await holder.rig.get(`/v1/messages/${messageId}`)).body.status).toBe('failed');
  });

  test('are discarded at a rate, with the reason', async () => {
    await discardAll();
    const { turnId } = await failed('discarded');
    const { code } = (await holder.rig.get(`/v1/turns/${turnId}`)).body.error;
    expect(await letters(code)).toBe(1);
    const answer = await holder.rig.post('/v1/dead-letters/discard', { code, perSecond: 10, reason: 'a test' });
    expect(answer).toMatchObject({ status: 202, body: { action: 'discard', perSecond: 10, reason: 'a test' } });
    expect(await workOff(answer.body.id)).toMatchObject({ status: 'completed', done: 1 });
    expect(await letters(code)).toBe(0);
    const { items } = (await holder.rig.get('/v1/audit?limit=1&action=discardDeadLetters')).body;
    expect(items).toMatchObject([{ reason: 'a test', outcome: 'ok' }]);
  });
});

test('every filter of the list of turns is a filter of an action on turns, and finds the same', async () => {
  const { turnId } = await failed('same-filters');
  await failed('other-filters');
  const filters = {
    session: 'same-filters',
    status: ['failed'],
    kind: 'message',
    lane: 'main',
    agent: 'main',
    q: turnId,
  };
  const query = Object.entries(filters).map(([name, value]) => `${name}=${String(value)}`);
  const { items } = (await holder.rig.get(`/v1/turns?${query.join('&')}`)).body;
  expect(items).toMatchObject([{ id: turnId }]);
  for (const status of [['failed'], 'failed']) {
    const dry = { action: 'retry', target: 'turns', filter: { ...filters, status }, dryRun: true };
    expect((await holder.rig.post('/v1/bulk-actions', dry)).body).toEqual({ total: 1, ids: [turnId] });
  }
});

test.each([
  [{ action: 'cancel', target: 'turns', filter: {} }, 'action'],
  [{ action: 'retry', target: 'turns' }, 'filter'],
  [{ action: 'retry', target: 'turns', filter: {}, ids: [newId<string>()] }, 'filter'],
  [{ action: 'cancel', target: 'messages', filter: { status: ['answered'] } }, 'filter.status'],
  [{ action: 'cancel', target: 'messages', filter: { lane: 'main' } }, 'filter.lane'],
  [{ action: 'retry', target: 'turns', filter: { status: ['sent'] } }, 'filter.status'],
  [{ action: 'retry', target: 'turns', filter: { kind: 'delivery' } }, 'filter.kind'],
  [{ action: 'discard', target: 'dead-letters', filter: { kind: 'cron' } }, 'filter.kind'],
  [{ action: 'abort', target: 'turns', filter: {}, canary: true }, 'canary'],
  [{ action: 'retry', target: 'turns', filter: {}, perSecond: 0 }, 'perSecond'],
])('%j is refused, and names the field', async (body, path) => {
  const answer = await holder.rig.post('/v1/bulk-actions', body);
  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_body', errors: [{ path }] } });
});
