// Blocks of models over the API, with real turns.
import { expect, test } from 'vitest';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig({
  keys: [
    { name: 'ops', role: 'operator', key: 'operator-key-0123456789' },
    { name: 'eyes', role: 'viewer', key: 'viewer-key-01234567890' },
  ],
});
const ops = { authorization: 'Bearer operator-key-0123456789' };

/** Sends a message whose model asks to wait for 10 minutes, and then answers. */
async function blockedMessage(session: string, model: string, text = '[[error: 529 retry-after=600]] [[reply: here]]') {
  const { body } = await holder.rig.post(`/v1/sessions/${session}/messages`, { text, model });
  await holder.rig.work(session);
  return body.message.id as string;
}

const messageOf = async (id: string) => (await holder.rig.get(`/v1/messages/${id}`)).body;
const blocks = async () => (await holder.rig.get('/v1/model-blocks')).body.items;

test('a lifted block ends in workers that know it, and the turns that waited for the model resume at once', async () => {
  const { rig } = holder;
  const met = await blockedMessage('met', 'anthropic/held');
  const heard = await blockedMessage('heard', 'anthropic/held', '[[reply: here too]]');
  const other = await blockedMessage('other', 'anthropic/still-held');
  expect(await messageOf(heard)).toMatchObject({ status: 'claimed', why: { code: 'model_blocked' } });
  expect(await blocks()).toEqual([
    {
      model: 'anthropic/held',
      kind: 'asked',
      since: expect.any(String),
      until: expect.any(String),
      text: expect.stringMatching(/\S/),
    },
    expect.objectContaining({ model: 'anthropic/still-held' }),
  ]);

  rig.rings.length = 0;
  const lifted = await rig.post('/v1/models/unblock', { model: 'anthropic/held', reason: 'the limit was raised' }, ops);
  expect(lifted).toMatchObject({
    status: 200,
    body: { lifted: [{ model: 'anthropic/held' }], remaining: [{ model: 'anthropic/still-held' }] },
  });
  expect(rig.rings).not.toEqual([]);
  for (const session of ['met', 'heard', 'other']) await rig.work(session);
  expect(await messageOf(met)).toMatchObject({ status: 'answered', reply: 'here' });
  expect(await messageOf(heard)).toMatchObject({ status: 'answered', reply: 'here too' });
  expect(await messageOf(other)).toMatchObject({ status: 'claimed' });
  const [change] = (await rig.get('/v1/audit?limit=1')).body.items;
  expect(change).toMatchObject({
    action: 'unblockModels',
    principal: 'key:ops',
    reason: 'the limit was raised',
    outcome: 'ok',
  });

  expect((await rig.post('/v1/models/unblock')).body).toMatchObject({
    lifted: [{ model: 'anthropic/still-held' }],
    remaining: [],
  });
  await rig.work('other');
  expect(await messageOf(other)).toMatchObject({ status: 'answered' });
});

test('a model whose block was lifted can be blocked again, and a retry of the request does not lift that block (G2)', async () => {
  const { rig } = holder;
  const model = 'anthropic/again';
  await blockedMessage('again', model, '[[error: 529 retry-after=600 times=2]] [[reply: at last]]');
  const key = { 'idempotency-key': 'unblock-1' };
  const first = await rig.post('/v1/models/unblock', { model }, key);
  await rig.work('again');
  expect(await blocks()).toMatchObject([{ model }]);
  expect((await rig.post('/v1/models/unblock', { model }, key)).body).toEqual(first.body);
  expect(await blocks()).toMatchObject([{ model }]);
  await rig.post('/v1/models/unblock', { model });
});

test('a turn that waits for the block of another turn alone, with its own Retry-After, resumes too', async () => {
  const { rig } = holder;
  const id = await blockedMessage(
    'conflict',
    'anthropic/in-conflict',
    '[[error: 409 retry-after=600]] [[reply: free]]',
  );
  expect(await messageOf(id)).toMatchObject({ why: { code: 'retry_wait' } });
  expect((await rig.post('/v1/models/unblock', { model: 'anthropic/in-conflict' })).body.lifted).toEqual([]);
  await rig.work('conflict');
  expect(await messageOf(id)).toMatchObject({ status: 'answered', reply: 'free' });
});

test('a viewer sees the blocks and cannot lift them; a model without its provider is refused', async () => {
  const { rig } = holder;
  const viewer = { authorization: 'Bearer viewer-key-01234567890' };
  expect((await rig.get('/v1/model-blocks', viewer)).status).toBe(200);
  expect((await rig.post('/v1/models/unblock', {}, viewer)).status).toBe(403);
  expect((await rig.post('/v1/models/unblock', { model: 'claude' })).body).toMatchObject({
    code: 'invalid_body',
    errors: [{ path: 'model', message: expect.stringContaining('provider/model') }],
  });
});
