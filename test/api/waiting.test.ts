import { expect, test } from 'vitest';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

test('a waiting message is listed with its reason until a turn has answered it', async () => {
  const { rig } = holder;
  const sent = await rig.post('/v1/sessions/waits/messages', { text: '[[reply: done]]' });
  const { id } = sent.body.message;
  const listed = await rig.get('/v1/waiting?session=waits&lane=main');
  expect(listed.body).toMatchObject({
    items: [{ id, sessionKey: 'agent:main:waits', lane: 'main', position: 1, why: { code: 'no_worker', by: 'main' } }],
    nextCursor: null,
    count: 1,
    isCapped: false,
  });
  expect((await rig.get(`/v1/messages/${id}`)).body.why).toEqual(listed.body.items[0].why);
  const counted = { items: [{ id }], nextCursor: null, count: 1, isCapped: false };
  expect((await rig.get('/v1/waiting?reason=no_worker')).body).toMatchObject(counted);
  expect(await rig.get('/v1/waiting?reason=tired')).toMatchObject({
    status: 400,
    body: { errors: [{ path: 'reason' }] },
  });
  expect((await rig.get('/v1/waiting?reason=lane_full')).body).toMatchObject({ items: [], nextCursor: null, count: 0 });
  expect((await rig.get('/v1/waiting?lane=cron')).body).toMatchObject({ items: [], count: 0 });
  await rig.work('waits');
  expect((await rig.get('/v1/waiting')).body.items).toEqual([]);
  expect((await rig.get(`/v1/messages/${id}`)).body).toMatchObject({ status: 'answered', why: null });
  expect((await rig.get('/v1/waiting?batch=none')).status).toBe(400);
});

test('a list can be requested with only the beginnings of long texts', async () => {
  const { rig } = holder;
  const text = `${'🦀'.repeat(600)} [[reply: ${'done '.repeat(200)}]]`;
  const { id } = (await rig.post('/v1/sessions/long/messages', { text })).body.message;
  expect((await rig.get('/v1/waiting?session=long')).body.items[0].text).toBe(text);
  const [cut] = (await rig.get('/v1/waiting?session=long&textChars=7')).body.items;
  expect(cut).toMatchObject({ id, text: '🦀'.repeat(4) });
  await rig.work('long');
  const [turn] = (await rig.get('/v1/turns?session=long&steps=none&textChars=9')).body.items;
  expect(turn.reply).toBe('done done');
  expect((await rig.get('/v1/turns?session=long&steps=none')).body.items[0].reply.length).toBeGreaterThan(900);
  expect((await rig.get('/v1/waiting?textChars=0')).status).toBe(400);
});
