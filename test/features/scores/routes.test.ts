// What people think of turns: given over the API and by reactions in chats, listed and counted.
import { describe, expect, test } from 'vitest';
import { changeDeliveries } from '../../rows/deliveries.ts';
import { readEvents } from '../../rows/events.ts';
import { countScores } from '../../rows/scores.ts';
import { makeScopedKey } from '../../api/scoped-key.ts';
import { BOT, updateOf, useChannelRig } from '../channels/channel-rig.ts';

const holder = useChannelRig();
let conversations = 0;

/** A message that is answered: its id, and the id of its turn. */
async function answered(agentSession = `c${(conversations += 1)}`) {
  const { api } = holder.rig;
  const { body } = await api.post(`/v1/sessions/${agentSession}/messages`, { text: 'Hello' });
  await api.work(agentSession);
  const { id, turnId } = (await api.get(`/v1/messages/${body.message.id}`)).body;
  return { session: agentSession, messageId: id as string, turnId: turnId as string };
}

const give = (turnId: string, body: object, headers: Record<string, string> = {}) =>
  holder.rig.api.post(`/v1/turns/${turnId}/scores`, body, headers);
const get = async (path: string) => (await holder.rig.api.get(path)).body;

describe('a score', () => {
  test('is shown with its turn; what its author says again under its name replaces it, and nothing else does', async () => {
    const { turnId, session } = await answered();
    const first = await give(turnId, { score: 'helpful', value: false, note: 'It should have looked it up.' });
    expect(first).toMatchObject({
      status: 200,
      body: {
        turnId,
        sessionKey: `agent:main:${session}`,
        messageId: null,
        score: 'helpful',
        value: false,
        by: 'admin',
      },
    });
    const second = await give(turnId, { score: 'helpful', value: true });
    expect(second.body).toMatchObject({ id: first.body.id, value: true, note: null, source: 'api' });
    await give(turnId, { score: 'helpful', value: 0.5, by: 'Ada' });
    await give(turnId, { score: 'tone', value: 'too formal' });
    const { scores } = await get(`/v1/turns/${turnId}`);
    expect(scores).toMatchObject([
      { score: 'tone', value: 'too formal', by: 'admin' },
      { score: 'helpful', value: 0.5, by: 'Ada' },
      { score: 'helpful', value: true, by: 'admin' },
    ]);
    expect((await get(`/v1/turns?session=${session}`)).items[0].scores).toEqual(scores);
  });

  test('of a message of the turn is one beside that of the turn', async () => {
    const { turnId, messageId } = await answered();
    await give(turnId, { score: 'helpful', value: true, messageId });
    await give(turnId, { score: 'helpful', value: false });
    expect((await get(`/v1/scores?turn=${turnId}`)).items).toMatchObject([
      { turnId, messageId: null, value: false },
      { turnId, messageId, value: true },
    ]);
  });

  test('that is sent again with its key is one, and no second event (G2)', async () => {
    const { turnId, session } = await answered();
    const key = { 'idempotency-key': `score-${session}` };
    const score = { score: 'helpful', value: 3 };
    const first = await give(turnId, score, key);
    expect((await give(turnId, score, key)).body).toEqual(first.body);
    await give(turnId, score);
    expect(await readEvents(holder.rig.api, { type: 'score.set', turnId }, 'turnId', 'data')).toEqual([
      { turnId, data: { messageId: null, ...score, by: 'admin' } },
    ]);
  });

  test('can be removed, and is deleted with its turn', async () => {
    const [removed, deleted] = [await answered(), await answered()];
    const { id } = (await give(removed.turnId, { score: 'helpful', value: true })).body;
    const { ask } = holder.rig.api;
    expect(await ask('DELETE', `/v1/scores/${id}`)).toMatchObject({ status: 200, body: { id } });
    expect(await ask('DELETE', `/v1/scores/${id}`)).toMatchObject({ status: 404 });
    expect((await get(`/v1/turns/${removed.turnId}`)).scores).toEqual([]);
    await give(deleted.turnId, { score: 'helpful', value: true });
    expect((await ask('DELETE', `/v1/sessions/${deleted.session}`)).body.removed).toMatchObject({ turn_scores: 1 });
    expect(await countScores(holder.rig.api, { turnId: deleted.turnId })).toBe(0);
  });

  test.each([
    [{ value: 1 }, 'score', 'is missing'],
    [{ score: ' ', value: 1 }, 'score', ''],
    [{ score: 'a:b', value: 1 }, 'score', 'without a colon'],
    [{ score: 'helpful' }, 'value', 'is missing'],
    [{ score: 'helpful', value: null }, 'value', 'number'],
    [{ score: 'helpful', value: { is: true } }, 'value', 'number'],
    [{ score: 'helpful', value: '' }, 'value', ''],
    [{ score: 'helpful', value: 'x'.repeat(501) }, 'value', '500'],
    [{ score: 'helpful', value: true, label: 'x' }, 'label', ''],
  ])('%j is refused at the field %s', async (body, path, message) => {
    const { status, body: problem } = await give(crypto.randomUUID(), body);
    expect(status).toBe(400);
    expect(problem.errors[0]).toMatchObject({ path });
    expect(problem.errors[0].message).toContain(message);
  });

  test('of a turn that does not exist, or of a message of another one, is refused with 404', async () => {
    const [one, other] = [await answered(), await answered()];
    const score = { score: 'helpful', value: true };
    expect(await give(crypto.randomUUID(), score)).toMatchObject({ status: 404 });
    expect(await give(one.turnId, { ...score, messageId: other.messageId })).toMatchObject({ status: 404 });
    expect((await get(`/v1/turns/${one.turnId}`)).scores).toEqual([]);
  });
});

describe('scores', () => {
  test('find turns by their values, and are counted', async () => {
    const [good, bad, mixed] = [await answered(), await answered(), await answered()];
    await give(good.turnId, { score: 'useful', value: true, by: 'counted' });
    await give(bad.turnId, { score: 'useful', value: false, by: 'counted' });
    await give(bad.turnId, { score: 'fault', value: 'tool: wrong', by: 'counted' });
    await give(mixed.turnId, { score: 'useful', value: 'true', by: 'counted' });
    await give(mixed.turnId, { score: 'useful', value: -0.5, by: 'Ada' });
    const found = async (score: string) => {
      const query = `score=${encodeURIComponent(score)}`;
      const { items } = await get(`/v1/turns?${query}&steps=none`);
      expect(await get(`/v1/turns/count?${query}`)).toEqual({ count: items.length, isCapped: false });
      const ids = new Set((items as { id: string }[]).map(({ id }) => id));
      return [good, bad, mixed].map(({ turnId }) => ids.has(turnId));
    };
    expect(await found('useful:true')).toEqual([true, false, true]);
    expect(await found('useful:false')).toEqual([false, true, false]);
    expect(await found('useful:-0.50')).toEqual([false, false, true]);
    expect(await found('fault:tool: wrong')).toEqual([false, true, false]);
    expect(await found('fault:true')).toEqual([false, false, false]);
    expect(await found(' useful :false')).toEqual([false, true, false]);
    const { status, body: problem } = await holder.rig.api.get('/v1/turns?score=useful');
    expect([status, problem.errors]).toMatchObject([400, [{ path: 'score' }]]);
    expect((await get('/v1/scores?author=counted&score=fault')).items).toMatchObject([{ turnId: bad.turnId }]);
    const huge = { score: 'tokens', value: 1e300 };
    await Promise.all(['counted', 'Ada'].map((by) => give(mixed.turnId, { ...huge, by })));
    const { items } = await get('/v1/scores/counts');
    expect(items).toContainEqual({ name: 'tokens', good: 2, bad: 0, count: 2, average: 1e300 });
    expect(items).toContainEqual({ name: 'useful', good: 1, bad: 2, count: 4, average: -0.5 });
    expect((await get(`/v1/scores/counts?by=author&score=useful&session=${bad.session}`)).items).toEqual([
      { name: 'counted', good: 0, bad: 1, count: 1, average: null },
    ]);
  });

  test('do not name other keys to a key with a scope, which removes only its own and those of persons (G44)', async () => {
    const { api } = holder.rig;
    const shop = await makeScopedKey(api, { sessions: ['agent:main:shop:*'] });
    const other = await makeScopedKey(api, {});
    const { turnId } = await answered('shop:judged');
    const score = { score: 'polite', value: true };
    const ofAdmin = (await give(turnId, score)).body;
    const ofOther = (await other.post(`/v1/turns/${turnId}/scores`, score)).body;
    const ofShop = (await shop.post(`/v1/turns/${turnId}/scores`, score)).body;
    const ofAda = (await shop.post(`/v1/turns/${turnId}/scores`, { ...score, by: 'Ada' })).body;
    const names = [ofAdmin.by, ofOther.by];
    const counted = (name: string | null, count: number) => ({ name, good: count, bad: 0, count, average: null });
    expect((await shop.get('/v1/scores/counts?by=author')).body.items).toEqual([
      counted(null, 2),
      counted('Ada', 1),
      counted(ofShop.by, 1),
    ]);
    for (const author of [...names, 'key:never'])
      expect(await shop.get(`/v1/scores?author=${author}`)).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'author' }] },
      });
    for (const author of [ofShop.by, 'Ada'])
      expect((await shop.get(`/v1/scores?author=${author}`)).body.items).toMatchObject([{ by: author }]);
    for (const { id } of [ofAdmin, ofOther])
      expect(await shop.ask('DELETE', `/v1/scores/${id}`)).toMatchObject({ status: 403 });
    for (const { id } of [ofShop, ofAda])
      expect(await shop.ask('DELETE', `/v1/scores/${id}`)).toMatchObject({ status: 200 });
    expect((await get(`/v1/scores?turn=${turnId}`)).items.map(({ by }: { by: string }) => by)).toEqual(
      names.toReversed(),
    );
  });

  test('are given in the name of the caller or of a person, never in that of another key', async () => {
    const { api } = holder.rig;
    const key = await makeScopedKey(api, {});
    const { turnId } = await answered();
    const score = { score: 'helpful', value: true };
    await give(turnId, score);
    const { by } = (await key.post(`/v1/turns/${turnId}/scores`, score)).body;
    const taken = { ...score, value: false };
    for (const refused of [
      await key.post(`/v1/turns/${turnId}/scores`, { ...taken, by: 'admin' }),
      await give(turnId, { ...taken, by }),
    ])
      expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'by' }] } });
    expect(await key.post(`/v1/turns/${turnId}/scores`, { ...score, by })).toMatchObject({ status: 200, body: { by } });
    expect((await get(`/v1/scores?turn=${turnId}`)).items).toMatchObject([{ value: true }, { value: true }]);
  });

  test('are made of 👍 and 👎 under an answer in a chat, once however often they are pushed, and end with them', async () => {
    const { rig } = holder;
    const from = 7_001;
    const message = rig.telegram.say({ from, text: 'Hello [[reply: Hi.]]' });
    expect(await rig.push(updateOf(message))).toBe(200);
    const session = `telegram:direct:${from}`;
    await rig.api.work(session);
    const platformId = `${BOT}.${message.message_id + 1}`;
    const [{ id }] = (await get(`/v1/deliveries?session=${session}`)).items;
    await changeDeliveries(rig.api, { id }, { platformId, status: 'sent' });
    const react = (before: string[], after: string[], messageId = message.message_id + 1) =>
      rig.push({
        update_id: (updateId += 1),
        message_reaction: {
          chat: message.chat,
          message_id: messageId,
          user: message.from,
          date: updateId,
          old_reaction: before.map((emoji) => ({ type: 'emoji', emoji })),
          new_reaction: after.map((emoji) => ({ type: 'emoji', emoji })),
        },
      });
    let updateId = 9_000_000;
    const shown = async () => (await get(`/v1/scores?session=${session}`)).items;

    await react([], ['❤']);
    await react([], ['👍'], message.message_id);
    expect(await shown()).toEqual([]);
    await react([], ['👍']);
    await react([], ['👍']);
    expect(await shown()).toMatchObject([
      { score: 'thumb', value: true, by: `telegram:${from}`, source: 'telegram', messageId: null },
    ]);
    await react(['👍'], ['👎']);
    expect(await shown()).toMatchObject([{ score: 'thumb', value: false }]);
    await react(['👎'], []);
    expect(await shown()).toEqual([]);
    // The platform did not learn that its push was received.
    updateId -= 4;
    await react([], ['👍']);
    expect(await shown()).toEqual([]);
  });
});
