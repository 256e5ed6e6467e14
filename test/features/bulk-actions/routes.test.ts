// Bulk actions: one decision about many objects, executed by schedulers, with a result for each.
import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { carryOutItem } from '../../../src/features/bulk-actions/use-cases.ts';
import { leaseBulkItems } from '../../../src/features/bulk-actions/store.ts';
import { runBulkRound } from '../../../src/features/bulk-actions/use-cases.ts';
import { readBulkActionItems } from '../../rows/bulk-actions.ts';
import { readEvents } from '../../rows/events.ts';
import { addInputs, changeInputs, countInputs } from '../../rows/inputs.ts';
import { addSessions, changeSessions } from '../../rows/sessions.ts';
import { having, like, not, now } from '../../rows/table.ts';
import { addTurns, removeTurns } from '../../rows/turns.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

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
  const { id: messageId, turnId } = await rig.settle(session, `${failing} [[reply: ok]]`);
  if (isMended) {
    await changeInputs(rig, { id: messageId }, { body: { text: '[[reply: ok]]' } });
  }
  return { turnId, messageId };
}

/** This many sessions with a failed turn each, inserted as rows. */
async function manyFailed(name: string, count: number): Promise<void> {
  const { rig } = holder;
  const ids = Array.from({ length: count }, () => [newId<string>(), newId<string>(), newId<string>()] as const);
  await addSessions(rig, ...ids.map(([id], n) => ({ id, key: `agent:main:${name}${n + 1}`, inboxSeq: 1 })));
  const failed = { status: 'failed', lane: 'cron', endedAt: now };
  await addTurns(rig, ...ids.map(([sessionId, id]) => ({ id, sessionId, ...failed })));
  const settled = { seq: 1, status: 'failed', settledAt: now };
  await addInputs(rig, ...ids.map(([sessionId, turnId, id]) => ({ id, sessionId, turnId, ...settled })));
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
    const many = { sessionKey: like('agent:main:many-%'), status: 'waiting' };
    expect(await countInputs(holder.rig, many)).toBe(400);
    const items = await readBulkActionItems(holder.rig, { actionId: action.id, status: not('pending') }, 'subject');
    expect(items).toHaveLength(1284);
    expect(new Set(items.map(({ subject }) => subject)).size).toBe(1284);
    expect(await itemsOf(action.id, '&status=skipped')).toMatchObject(
      Array.from({ length: 200 }, () => ({ reason: 'The action was cancelled.' })),
    );
    const events = await readEvents(
      holder.rig,
      { type: 'bulk.progress', data: having({ bulkActionId: action.id }) },
      'data',
    );
    expect(events.at(-1)?.['data']).toMatchObject({ status: 'cancelled', done: 400, skipped: 884 });
    await removeTurns(holder.rig, { lane: 'cron' });
  });
});

test('a filter finds only turns that the action can change', async () => {
  const { rig } = holder;
  const session = 'choosy';
  await rig.settle(session, '[[reply: ok]]');
  const { turnId } = await failed(session, false);
  await rig.settle(session, '[[reply: ok]]');
  const plan = (action: string, filter: object = {}) =>
    rig.post('/v1/bulk-actions', { action, target: 'turns', filter: { session, ...filter }, dryRun: true });
  expect((await plan('retry')).body).toEqual({ total: 1, ids: [turnId] });
  expect((await plan('retry', { status: ['completed'] })).body.total).toBe(0);
  expect((await plan('abort')).body.total).toBe(0);
  await rig.post(`/v1/turns/${turnId}/retry`);
  expect((await plan('retry')).body.total).toBe(0);
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
    await removeTurns(holder.rig, { lane: 'cron' });
  });
});

describe('waiting messages', () => {
  test('are cancelled one by one, unless a worker may be claiming them', async () => {
    const { rig } = holder;
    const { body } = await rig.post('/v1/sessions/crowd/messages', { text: 'one' });
    const second = (await rig.post('/v1/sessions/crowd/messages', { text: 'two' })).body;
    await changeSessions(rig, { key: 'agent:main:crowd' }, { owner: 'a worker' });
    const taken = await submit({ action: 'cancel', target: 'messages', ids: [body.message.id] });
    expect(await workOff(taken.id)).toMatchObject({ done: 0, skipped: 1 });
    await changeSessions(rig, { key: 'agent:main:crowd' }, { owner: null });

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
