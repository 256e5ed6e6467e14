// What people think of turns: given over the API and by reactions in chats, listed and counted.
import { describe, expect, test } from 'vitest';
import { changeDeliveries } from '../../rows/deliveries.ts';
import { readEventData } from '../../rows/channels.ts';
import { countScores } from '../../rows/scores.ts';
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

const give = (body: object, headers: Record<string, string> = {}) => holder.rig.api.post('/v1/scores', body, headers);
const get = async (path: string) => (await holder.rig.api.get(path)).body;

describe('a score', () => {
  test('is shown with its turn, and replaces what its author said before; another author has one of their own', async () => {
    const { turnId, session } = await answered();
    const first = await give({ turnId, score: -1, label: 'wrong tool', note: 'It should have looked it up.' });
    expect(first).toMatchObject({
      status: 200,
      body: { turnId, sessionKey: `agent:main:${session}`, messageId: null, score: -1, author: 'admin', source: 'api' },
    });
    const second = await give({ turnId, score: 0.5 });
    expect(second.body).toMatchObject({ id: first.body.id, score: 0.5, label: null, note: null });
    await give({ turnId, score: -1, author: 'Ada' });
    const { scores } = await get(`/v1/turns/${turnId}`);
    expect(scores).toMatchObject([
      { author: 'Ada', score: -1 },
      { author: 'admin', score: 0.5 },
    ]);
    expect((await get(`/v1/turns?session=${session}`)).items[0].scores).toEqual(scores);
  });

  test('of a message is one of the turn that answered it', async () => {
    const { turnId, messageId } = await answered();
    await give({ messageId, score: 1 });
    await give({ turnId, score: -1 });
    expect((await get(`/v1/scores?turn=${turnId}`)).items).toMatchObject([
      { turnId, messageId: null, score: -1 },
      { turnId, messageId, score: 1 },
    ]);
  });

  test('that is sent again with its key is one, and no second event (G2)', async () => {
    const { turnId, session } = await answered();
    const key = { 'idempotency-key': `score-${session}` };
    const first = await give({ turnId, score: 1 }, key);
    expect((await give({ turnId, score: 1 }, key)).body).toEqual(first.body);
    await give({ turnId, score: 1 });
    const events = (await readEventData(holder.rig.api, 'score.set')) as { scoreId: string }[];
    expect(events.filter(({ scoreId }) => scoreId === first.body.id)).toEqual([
      { scoreId: first.body.id, score: 1, label: null, author: 'admin' },
    ]);
  });

  test('can be removed, and is deleted with its turn', async () => {
    const [removed, deleted] = [await answered(), await answered()];
    const { id } = (await give({ turnId: removed.turnId, score: 1 })).body;
    const { ask } = holder.rig.api;
    expect(await ask('DELETE', `/v1/scores/${id}`)).toMatchObject({ status: 200, body: { id } });
    expect(await ask('DELETE', `/v1/scores/${id}`)).toMatchObject({ status: 404 });
    expect((await get(`/v1/turns/${removed.turnId}`)).scores).toEqual([]);
    await give({ turnId: deleted.turnId, score: 1 });
    expect((await ask('DELETE', `/v1/sessions/${deleted.session}`)).body.removed).toMatchObject({ scores: 1 });
    expect(await countScores(holder.rig.api, { turnId: deleted.turnId })).toBe(0);
  });

  test.each([
    [{ score: 1 }, 'turnId', 'expected turnId or messageId'],
    [{ turnId: '0', score: 1 }, 'turnId', 'UUID'],
    [{ turnId: crypto.randomUUID(), messageId: crypto.randomUUID(), score: 1 }, 'turnId', 'one of them'],
    [{ turnId: crypto.randomUUID() }, 'score', 'expected a score, a label or a note'],
    [{ turnId: crypto.randomUUID(), score: 2 }, 'score', '1'],
    [{ turnId: crypto.randomUUID(), label: ' ' }, 'label', ''],
  ])('%j is refused at the field %s', async (body, path, message) => {
    const { status, body: problem } = await give(body);
    expect(status).toBe(400);
    expect(problem.errors[0]).toMatchObject({ path });
    expect(problem.errors[0].message).toContain(message);
  });

  test('of a turn that does not exist, or of a message that waits, is refused with 404', async () => {
    const { api } = holder.rig;
    const waiting = await api.post('/v1/sessions/waits-for-score/messages', { text: 'x' });
    expect(await give({ turnId: crypto.randomUUID(), score: 1 })).toMatchObject({ status: 404 });
    const refused = await give({ messageId: waiting.body.message.id, score: 1 });
    expect(refused).toMatchObject({
      status: 404,
      body: { detail: expect.stringContaining('Wait until it is answered') },
    });
  });
});

describe('scores', () => {
  test('find turns by what people thought of them, and are counted', async () => {
    const [good, bad, mixed] = [await answered(), await answered(), await answered()];
    await give({ turnId: good.turnId, score: 1, author: 'counted', label: 'helpful' });
    await give({ turnId: bad.turnId, score: -1, author: 'counted', label: 'wrong tool' });
    await give({ turnId: mixed.turnId, score: 1, author: 'counted' });
    await give({ turnId: mixed.turnId, score: -0.5, author: 'Ada' });
    const found = async (query: string) => {
      const { items } = await get(`/v1/turns?${query}&steps=none`);
      const ids = new Set((items as { id: string }[]).map(({ id }) => id));
      return [good, bad, mixed].map(({ turnId }) => ids.has(turnId));
    };
    expect(await found('score=good')).toEqual([true, false, true]);
    expect(await found('score=bad')).toEqual([false, true, true]);
    expect((await get('/v1/scores?author=counted&score=bad')).items).toMatchObject([{ turnId: bad.turnId }]);
    expect((await get('/v1/scores?label=helpful')).items).toMatchObject([{ turnId: good.turnId }]);
    const { items } = await get('/v1/scores/counts?by=author');
    expect(items.find(({ name }: { name: string }) => name === 'counted')).toEqual({
      name: 'counted',
      good: 2,
      bad: 1,
      count: 3,
      average: 0.3333,
    });
    expect((await get(`/v1/scores/counts?by=label&session=${bad.session}`)).items).toEqual([
      { name: 'wrong tool', good: 0, bad: 1, count: 1, average: -1 },
    ]);
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
      { score: 1, author: `telegram:${from}`, source: 'telegram', messageId: null },
    ]);
    await react(['👍'], ['👎']);
    expect(await shown()).toMatchObject([{ score: -1 }]);
    await react(['👎'], []);
    expect(await shown()).toEqual([]);
    // The platform did not learn that its push was received.
    updateId -= 4;
    await react([], ['👍']);
    expect(await shown()).toEqual([]);
  });
});
