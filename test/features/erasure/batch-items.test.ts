// Goal: items of batches are messages of the person that they name, whether or not they were fed
// before their batch ended. Method: each person's texts have a word of their own, which is looked
// for in every column of every table.
import { expect, test } from 'vitest';
import { tablesWith as findWord } from '../../api/tables-with.ts';
import { makeScopedKey } from '../../api/scoped-key.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { readBatchItems } from '../../rows/batches.ts';
import { countSessions } from '../../rows/sessions.ts';
import { batchRig } from '../batches/batch-rig.ts';

const holder = useApiRig();

const tablesWith = (text: string): Promise<Record<string, number>> => findWord(holder.rig.rows, text);
const erase = (path: string) => holder.rig.ask('DELETE', path);

async function submit(items: object[]): Promise<string> {
  const made = await batchRig(holder.rig).submit({ items });
  expect(made.status).toBe(201);
  return made.body.id;
}

async function run(id: string): Promise<void> {
  expect(await batchRig(holder.rig).run(id)).toMatchObject({ status: 'ended' });
}

async function cancel(id: string): Promise<void> {
  await holder.rig.post(`/v1/batches/${id}/cancel`, { running: 'stop' });
  await run(id);
}

test('a person is erased who is only the sender of batch items', async () => {
  const id = await submit([
    { text: 'osprey', sender: { id: 'ada' } },
    { text: 'osprey', sender: { id: 'ada' }, sessionKey: 'crm-ada', customId: 'osprey' },
    { text: 'grebe', sender: { id: 'ben' } },
    { text: 'a summary', sessionKey: 'crm-ada' },
  ]);
  await run(id);
  const erased = await erase('/v1/subjects/ada');
  expect(erased.body).toMatchObject({ shared: [], batchItems: 0 });
  expect(erased.body.sessions.map(({ key }: { key: string }) => key)).toEqual([
    expect.stringMatching(/^agent:main:batch:.*:1$/),
    'agent:main:crm-ada',
  ]);
  expect(await tablesWith('osprey')).toEqual({});
  expect(Object.keys(await tablesWith('grebe'))).toContain('inbox');
  expect((await holder.rig.get(`/v1/batches/${id}`)).body.counts).toMatchObject({ total: 4, answered: 4 });
});

test('a session with messages of one person and batch items of another is shared', async () => {
  const { rig } = holder;
  await rig.post('/v1/sessions/both/messages', { text: 'plover', sender: { id: 'cem' } });
  await run(await submit([{ text: 'godwit', sender: { id: 'dua' }, sessionKey: 'both' }]));
  expect((await erase('/v1/subjects/cem')).body).toMatchObject({ sessions: [], shared: ['agent:main:both'] });
  expect((await erase('/v1/subjects/dua')).body).toMatchObject({ sessions: [], shared: ['agent:main:both'] });
});

test('items that were cancelled before they were fed lose their texts with their person, in the channel that is asked for', async () => {
  const items = [
    { text: 'avocet', sender: { id: 'eli' }, customId: 'avocet-1' },
    { text: 'avocet', sender: { id: 'eli' }, sessionKey: 'avocet', channel: 'telegram' },
    { text: 'dunlin', sender: { id: 'fay' } },
  ];
  await cancel(await submit(items));
  const planned = await erase('/v1/subjects/eli?dryRun=true');
  expect(planned.body).toEqual({ senderId: 'eli', sessions: [], shared: [], batchItems: 2 });
  expect((await erase('/v1/subjects/eli?channel=telegram')).body).toMatchObject({ batchItems: 1 });
  expect((await erase('/v1/subjects/eli')).body).toMatchObject({ batchItems: 1 });
  expect(await tablesWith('avocet')).toEqual({});
  expect(Object.keys(await tablesWith('dunlin'))).toEqual(['batch_items']);
});

test('a person is not erased while a batch has items of them that have not ended', async () => {
  const id = await submit([{ text: 'curlew', sender: { id: 'gus' } }]);
  expect(await erase('/v1/subjects/gus')).toMatchObject({
    status: 409,
    body: { code: 'conflict', detail: expect.stringContaining(`The person has items of the batch ${id}`) },
  });
  await cancel(id);
  expect((await erase('/v1/subjects/gus')).body).toMatchObject({ batchItems: 1 });
  expect(await tablesWith('curlew')).toEqual({});
});

test('a key whose items were cancelled before they made a session is erased with their texts', async () => {
  const id = await submit([{ text: 'whimbrel', sessionKey: 'never-made' }]);
  expect((await erase('/v1/sessions/never-made')).status).toBe(409);
  await cancel(id);
  const planned = await erase('/v1/sessions/never-made?dryRun=true');
  expect(planned.body).toMatchObject({ removed: { batch_items: 1 } });
  expect((await erase('/v1/sessions/never-made')).body).toMatchObject({ removed: { batch_items: 1 } });
  expect(await tablesWith('whimbrel')).toEqual({});
});

test('a key with a scope is not told which batch of another key has items of its session (G44)', async () => {
  const shop = await makeScopedKey(holder.rig, { sessions: ['agent:main:shop:*'] }, 'admin');
  const item = { text: '[[error: 400 times=always]]', sessionKey: 'shop:1' };
  const made = await batchRig(holder.rig).submit({ items: [item, item], maxFailurePercent: 100 });
  const { id } = made.body;
  const busy = await shop.ask('DELETE', '/v1/sessions/shop:1');
  expect(busy).toMatchObject({ status: 409, body: { detail: expect.stringContaining('a batch of another key') } });
  await run(id);
  const [turn] = (await shop.get('/v1/turns?session=shop:1')).body.items;
  const refused = await shop.post(`/v1/turns/${turn.id}/retry`);
  expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('a batch of another key') } });
  for (const { body } of [busy, refused]) expect(JSON.stringify(body)).not.toContain(id);
  expect((await holder.rig.post(`/v1/turns/${turn.id}/retry`)).body.detail).toContain(id);
});

test('items that an erasure has emptied are not retried', async () => {
  const bad = { text: 'knot [[error: 400 times=always]]' };
  const made = await batchRig(holder.rig).submit({
    items: [{ ...bad, sender: { id: 'hal' } }, bad],
    maxFailurePercent: 100,
  });
  const { id } = made.body;
  await run(id);
  expect((await erase('/v1/subjects/hal')).status).toBe(200);
  const retried = await holder.rig.post(`/v1/batches/${id}/retry-failed`, {});
  expect(retried.body.counts).toMatchObject({ failed: 1, pending: 1 });
  await run(id);
  expect(await countSessions(holder.rig, { key: 'agent:main:erased' })).toBe(0);
  const attempts = await readBatchItems(holder.rig, { batchId: id }, 'attempt');
  expect(attempts).toEqual([{ attempt: 1 }, { attempt: 2 }]);
});
