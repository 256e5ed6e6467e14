// Failed turns as dead letters (G17): each can be found by its code and retried once, whatever its
// session has done since.
import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { addDeadLetters } from '../../rows/dead-letters.ts';
import { addDeliveries } from '../../rows/deliveries.ts';
import { changeInputs, countInputs, readInputs } from '../../rows/inputs.ts';
import { earlier, now, replaced } from '../../rows/table.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig();
const failing = '[[error: 400 message="no"]]';
/** Fails as long as the cause of the fault exists, and is answered once it is repaired. */
const failsOnce = (reply: string): string => `${failing} [[reply: ${reply}]]`;

/** A session with a turn that has failed; the id of its message and of the turn. */
async function failed(session: string, text: string, more: object = {}) {
  const { rig } = holder;
  const message = await rig.settle(session, text, more);
  expect(message.status).toBe('failed');
  // The cause is repaired.
  await changeInputs(rig, { id: message.id }, { body: replaced(JSON.stringify(failing).slice(1, -1), 'mended') });
  return { messageId: String(message.id), turnId: String(message.turnId), code: String(message.error.code) };
}

const say = (session: string, text: string) => holder.rig.settle(session, text);

async function lettersOf(turnId: string, state = 'open') {
  const { items } = (await holder.rig.get(`/v1/dead-letters?state=${state}&limit=200`)).body;
  return items.flatMap(({ code, letters }: { code: string; letters: { id: string; turnId: string }[] }) =>
    letters.filter((letter) => letter.turnId === turnId).map((letter) => ({ code, ...letter })),
  );
}

const messageOf = async (id: string) => (await holder.rig.get(`/v1/messages/${id}`)).body;

describe('a failed turn', () => {
  test('is a dead letter with its code and reason', async () => {
    const { turnId, code } = await failed('lettered', failsOnce('x'));
    expect(await lettersOf(turnId)).toMatchObject([{ kind: 'turn', code, sessionKey: 'agent:main:lettered' }]);
  });

  test('that is the last of its session is retried in place, and its letter is closed', async () => {
    const { rig } = holder;
    const { turnId, messageId } = await failed('last', failsOnce('now it works'));
    await changeInputs(rig, { id: messageId }, { receivedAt: earlier('3 hours') });
    expect(await rig.post(`/v1/turns/${turnId}/retry`)).toMatchObject({
      status: 202,
      body: { retried: turnId, messageIds: [messageId] },
    });
    expect(await lettersOf(turnId)).toEqual([]);
    await rig.work('last');
    const message = await messageOf(messageId);
    expect(message).toMatchObject({ status: 'answered', retryOf: null });
    expect(await rig.post(`/v1/turns/${turnId}/retry`)).toMatchObject({ status: 409 });
    // It has waited since the retry.
    const { queuedAt, firstClaimedAt } = (await rig.get(`/v1/turns/${message.turnId}`)).body;
    for (const since of [queuedAt, message.receivedAt])
      expect(Date.parse(firstClaimedAt) - Date.parse(since)).toBeLessThan(3_600_000);
  });

  test('whose session has moved on is retried as a new message that cites the old one', async () => {
    const { rig } = holder;
    const more = { channel: 'telegram', chatId: 'c1', sender: { id: 'ada' }, deliver: { url: 'http://127.0.0.1:9/' } };
    const { turnId, messageId } = await failed('moved', failsOnce('late, but here'), more);
    await say('moved', '[[reply: something else]]');
    const { status, body } = await rig.post(`/v1/turns/${turnId}/retry`);
    expect(status).toBe(202);
    const [id, ...others] = body.messageIds;
    expect(others).toEqual([]);
    expect(id).not.toBe(messageId);
    await rig.work('moved');
    expect(await messageOf(id)).toMatchObject({ status: 'answered', reply: 'late, but here', retryOf: messageId });
    expect(await messageOf(messageId)).toMatchObject({ status: 'failed' });
    const [old] = await readInputs(rig, { id: messageId }, 'bodyText', 'route');
    expect(await readInputs(rig, { id }, 'bodyText', 'route')).toEqual([old]);
    // The entries in between stay where they were.
    const { items } = (await rig.get('/v1/sessions/moved/transcript')).body;
    const texts = JSON.stringify(items);
    expect(texts.indexOf('something else')).toBeGreaterThan(0);
    expect(texts.lastIndexOf('late, but here')).toBeGreaterThan(texts.indexOf('something else'));
  });

  test('is retried with another text as one new message, and both name each other', async () => {
    const { rig } = holder;
    const more = { channel: 'telegram', chatId: 'c1', sender: { id: 'ada' }, tags: { customer: '42' } };
    const { turnId, messageId, code } = await failed('changed', failsOnce('too long'), more);
    const headers = { 'idempotency-key': 'changed-1' };
    const text = 'in short [[reply: shorter]]';
    const retry = () => rig.post(`/v1/turns/${turnId}/retry`, { text }, headers);
    const first = await retry();
    const [id] = first.body.messageIds as string[];
    expect(first).toMatchObject({ status: 202, body: { retried: turnId, messageIds: [id] } });
    expect((await retry()).body).toEqual(first.body);
    expect(await lettersOf(turnId)).toEqual([]);
    await rig.work('changed');
    expect(await messageOf(id!)).toMatchObject({
      status: 'answered',
      reply: 'shorter',
      text,
      tags: { customer: '42' },
      retryOf: messageId,
      retryOfTurn: turnId,
    });
    expect(await messageOf(messageId)).toMatchObject({ status: 'failed', error: { code }, retryOfTurn: null });
    expect((await rig.get(`/v1/turns/${turnId}`)).body).toMatchObject({ status: 'failed', retriedAs: [id] });
    // All else that the message asked for stays.
    const [old] = await readInputs(rig, { id: messageId }, 'bodyText', 'route');
    const [changed] = await readInputs(rig, { id: id! }, 'bodyText', 'route');
    expect(changed).toEqual({ ...old, bodyText: JSON.stringify({ ...JSON.parse(String(old!.bodyText)), text }) });
    expect(await rig.post(`/v1/turns/${turnId}/retry`, { text: 'again' })).toMatchObject({ status: 409 });
    expect(await rig.post(`/v1/turns/${turnId}/retry`, { text: ' ' })).toMatchObject({ status: 400 });
  });

  test('is retried once, however many concurrent requests ask for it (G2)', async () => {
    const { rig } = holder;
    const { turnId, messageId } = await failed('at-once', failsOnce('once'));
    await say('at-once', '[[reply: something else]]');
    const answers = await Promise.all([1, 2, 3, 4].map(() => rig.post(`/v1/turns/${turnId}/retry`)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 409, 409, 409]);
    expect(await countInputs(rig, { causeKey: `retry:${messageId}` })).toBe(1);
  });
});

describe('redriving by code', () => {
  test('retries every failed turn, and a second request finds nothing left', async () => {
    const { rig } = holder;
    const first = await failed('redrive-1', failsOnce('one'));
    const second = await failed('redrive-2', failsOnce('two'));
    await say('redrive-2', '[[reply: something else]]');
    await addDeadLetters(rig, { kind: 'announcement', code: 'parent_gone', reason: 'x' });
    const ids = [...(await lettersOf(first.turnId)), ...(await lettersOf(second.turnId))].map(({ id }) => id);
    const headers = { 'idempotency-key': 'redrive-1' };
    const redriven = await rig.post('/v1/dead-letters/redrive', { ids, kind: 'turn', code: first.code }, headers);
    expect(redriven).toMatchObject({ status: 200, body: { redriven: 2, skipped: 0, remaining: 0 } });
    const again = await rig.post('/v1/dead-letters/redrive', { ids, kind: 'turn', code: first.code }, headers);
    expect(again.body).toEqual(redriven.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect((await rig.post('/v1/dead-letters/redrive', { ids })).body).toMatchObject({ redriven: 0, letters: [] });
    const messageIds: string[] = redriven.body.letters.flatMap((letter: { messageIds: string[] }) => letter.messageIds);
    for (const session of ['redrive-1', 'redrive-2']) await rig.work(session);
    for (const id of messageIds) expect(await messageOf(id)).toMatchObject({ status: 'answered' });
    expect(await lettersOf(second.turnId, 'redriven')).toHaveLength(1);
    const skipped = await rig.post('/v1/dead-letters/redrive', { code: 'parent_gone' });
    expect(skipped.body).toMatchObject({ redriven: 0, skipped: 1 });
  });

  test('requires a code', async () => {
    expect(await holder.rig.post('/v1/dead-letters/redrive', {})).toMatchObject({ status: 400 });
    expect(await holder.rig.post('/v1/dead-letters/discard', {})).toMatchObject({ status: 400 });
  });
});

test('discarding by code closes the letters and discards their deliveries', async () => {
  const { rig } = holder;
  const sessionId = await rig.turns.sessionOf('discarded');
  const [letterId, deliveryId] = [newId<string>(), newId<string>()];
  await addDeliveries(rig, {
    id: deliveryId,
    sessionId,
    target: { url: 'https://example.org/' },
    payload: { text: 'hi' },
    status: 'failed',
    expiresAt: now,
  });
  await addDeadLetters(rig, {
    id: letterId,
    kind: 'delivery',
    sessionId,
    deliveryId,
    code: 'delivery_failed',
    reason: '500',
  });
  expect((await rig.post('/v1/dead-letters/discard', { code: 'delivery_failed' })).body).toEqual({ discarded: 1 });
  expect((await rig.post('/v1/dead-letters/discard', { code: 'delivery_failed' })).body).toEqual({ discarded: 0 });
  expect((await rig.get('/v1/deliveries?session=discarded')).body.items).toMatchObject([{ status: 'discarded' }]);
});

describe('the list of dead letters', () => {
  test('has of each group the letters of the last 24 hours by hour, and is filtered by code', async () => {
    const { rig } = holder;
    const nowMs = Date.now();
    const made = (code: string, count: number, hours: number): Promise<void> => {
      const createdAt = new Date(nowMs - hours * 3_600_000);
      const hex = createdAt.getTime().toString(16).padStart(12, '0');
      const idOf = (n: number) => `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-00000000000${n}`;
      return addDeadLetters(rig, ...Array.from({ length: count }, (_, n) => ({ id: idOf(n), code, createdAt })));
    };
    await made('trend_a', 3, 0);
    await made('trend_a', 2, 5);
    await made('trend_a', 1, 30);
    await made('trend_b', 1, 2);
    const { items } = (await rig.get('/v1/dead-letters?code=trend_a')).body;
    expect(items).toMatchObject([{ kind: 'turn', code: 'trend_a', count: 6 }]);
    const { startsAt, counts } = items[0].perHour;
    expect(counts).toHaveLength(24);
    expect(counts.filter((count: number) => count > 0)).toEqual([2, 3]);
    expect(Date.parse(startsAt) % 3_600_000).toBe(0);
    const hour = Math.floor((nowMs - 5 * 3_600_000 - Date.parse(startsAt)) / 3_600_000);
    expect(counts[hour]).toBe(2);
    expect((await rig.get('/v1/dead-letters?code=trend_c')).body.items).toEqual([]);
    expect((await rig.get('/v1/dead-letters?code=')).status).toBe(400);
  });
});
