// The outbox rows for the requester, as a client sees them: each kind of answer, to the address
// that the message named, in the form that the OpenAPI document describes.
import { describe, expect, test } from 'vitest';
import { webhookPayloads } from '../../src/contract/webhooks.ts';
import type { DeliveryType } from '../../src/core/delivery-payload.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();
const deliver = { url: 'http://127.0.0.1:9/replies' };
const address = {
  channel: 'telegram',
  accountId: 'bot-1',
  chatId: 'chat-7',
  chatType: 'group',
  thread: { id: 'topic-3', label: 'Holidays' },
};
const named = {
  channel: 'telegram',
  accountId: 'bot-1',
  chatId: 'chat-7',
  chatType: 'group',
  threadId: 'topic-3',
  recipient: { channel: 'telegram', accountId: 'bot-1', chatId: 'chat-7' },
};

const say = (session: string, text: string, more: object = {}, headers: Record<string, string> = {}) =>
  holder.rig.post(`/v1/sessions/${session}/messages`, { text, deliver, ...more }, headers);

interface Delivered {
  target: unknown;
  turnId: string | null;
  payload: Record<string, unknown> & { type: DeliveryType };
}

/** The deliveries of a session, oldest first; each was checked against the schema of its type. */
async function deliveriesOf(session: string): Promise<Delivered[]> {
  const { items } = (await holder.rig.get(`/v1/deliveries?session=${session}`)).body as {
    items: (Delivered & { id: string })[];
  };
  for (const { id, payload } of items) webhookPayloads[payload.type].parse({ ...payload, deliveryId: id });
  return items.toReversed();
}

describe('a reply', () => {
  test('has the recipient that its message named', async () => {
    const { body } = await say('addressed', '[[reply: Hello.]]', address);
    await holder.rig.work('addressed');
    const [delivery, ...more] = await deliveriesOf('addressed');
    expect(more).toEqual([]);
    expect(delivery).toMatchObject({ target: deliver, payload: { type: 'reply', text: 'Hello.' } });
    expect(delivery?.payload).toMatchObject({ ...named, messageIds: [body.message.id] });
  });

  test('names the person of a direct chat, and the label of a thread without an id', async () => {
    const direct = { channel: 'signal', sender: { id: '+15551' }, thread: { label: 'Holidays' } };
    await say('direct', '[[reply: Hello.]]', direct);
    await holder.rig.work('direct');
    const [delivery] = await deliveriesOf('direct');
    expect(delivery?.payload).toMatchObject({
      channel: 'signal',
      threadId: 'Holidays',
      recipient: { channel: 'signal', id: '+15551' },
    });
  });

  test('to a message without a recipient has none', async () => {
    await say('plain', '[[reply: Hello.]]');
    await holder.rig.work('plain');
    const [delivery] = await deliveriesOf('plain');
    expect(Object.keys(delivery?.payload ?? {}).toSorted()).toEqual([
      'messageIds',
      'sessionKey',
      'text',
      'turnId',
      'type',
    ]);
  });
});

describe('a turn that fails', () => {
  test('is delivered to the requester with its code, in the commit of its end', async () => {
    const { body } = await say('failing', '[[error: 400 message="no such tool"]]', address);
    await holder.rig.work('failing');
    const message = (await holder.rig.get(`/v1/messages/${body.message.id}`)).body;
    const [delivery, ...more] = await deliveriesOf('failing');
    expect(more).toEqual([]);
    expect(delivery?.payload).toMatchObject({
      type: 'failure',
      ...named,
      messageIds: [message.id],
      error: message.error,
    });
    expect(delivery?.payload['text']).toContain(message.error.message);
  });

  test('is not delivered when a person has stopped it', async () => {
    await say('stopped', '[[delay: 60000]] [[reply: never]]');
    const done = holder.rig.work('stopped');
    await expect.poll(async () => (await holder.rig.get('/v1/sessions/stopped')).body.status).toBe('running');
    await holder.rig.post('/v1/sessions/stopped/abort');
    await done;
    expect(await deliveriesOf('stopped')).toEqual([]);
  });
});

describe('a chat command', () => {
  test('is also answered to the requester, once for each key, after the rows that its session has in the outbox (G2, G21)', async () => {
    const { rig } = holder;
    await say('commands', '[[reply: First.]]', address);
    await rig.work('commands');
    const headers = { 'idempotency-key': 'command-1' };
    const first = await say('commands', '/status', address, headers);
    await say('commands', '/status', address, headers);
    const deliveries = await deliveriesOf('commands');
    expect(deliveries.map(({ payload }) => payload.type)).toEqual(['reply', 'command']);
    const { id, reply } = first.body.message;
    expect(deliveries[1]).toMatchObject({ target: deliver, turnId: null });
    expect(deliveries[1]?.payload).toMatchObject({ ...named, turnId: null, messageIds: [id], text: reply });
    expect(rig.rings).toContainEqual(expect.objectContaining({ kind: 'deliver', ringNo: 2000 }));
  });

  test('/stop and /queue report what they did, in the statement of their effect (G21, G24)', async () => {
    await say('effects', '/queue followup');
    await say('effects', 'never answered');
    const stopped = await say('effects', '/stop');
    const deliveries = await deliveriesOf('effects');
    expect(deliveries.map(({ payload }) => payload.type)).toEqual(['command', 'command']);
    expect(deliveries[0]?.payload['text']).toMatch(/^Set\. Queue: followup/);
    expect(deliveries[1]?.payload['text']).toBe(stopped.body.message.reply);
    expect(stopped.body.message.reply).toContain('Cancelled 1 waiting message.');
  });

  test('that waits for its turn is answered when it is done', async () => {
    await say('compacted', '/compact');
    await holder.rig.work('compacted');
    expect(await deliveriesOf('compacted')).toMatchObject([{ payload: { type: 'command' } }]);
  });

  test('a requested compaction has its answer in the turn, and delivers none', async () => {
    await say('asked', '[[reply: Hello.]]');
    await holder.rig.work('asked');
    await holder.rig.post('/v1/sessions/asked/compact');
    await holder.rig.work('asked');
    expect(await deliveriesOf('asked')).toMatchObject([{ payload: { type: 'reply' } }]);
  });
});

describe('a subagent that was spawned over the API', () => {
  test('is announced to the address in `deliver` of the request', async () => {
    const { rig } = holder;
    const { body } = await rig.post('/v1/sessions/office/spawn', { task: '[[reply: There are 3 files.]]', deliver });
    await rig.work(body.childSessionKey);
    await rig.work('office');
    expect(await deliveriesOf('office')).toMatchObject([{ target: deliver, payload: { type: 'reply' } }]);
    expect(await deliveriesOf(body.childSessionKey)).toEqual([]);
  });

  test.each(['ftp://example.org/', 'https://user:pass@example.org/'])('is refused for %s', async (url) => {
    const refused = await holder.rig.post('/v1/sessions/office/spawn', { task: 'x', deliver: { url } });
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'deliver.url' }] } });
  });
});

test('the OpenAPI document describes every kind of delivery as a webhook', async () => {
  const { webhooks } = (await holder.rig.get('/openapi.json')).body;
  expect(Object.keys(webhooks)).toEqual([
    'reply',
    'message',
    'failure',
    'command',
    'batch',
    'approval.requested',
    'tool.requested',
    'alert',
  ]);
  const { schema } = webhooks.failure.post.requestBody.content['application/json'];
  expect(schema.required).toContain('error');
  expect(schema.properties.type).toMatchObject({ const: 'failure' });
});

describe('a message with the delivery null', () => {
  const webhook = useApiRig({ file: { channels: { webhook: deliver } } });

  test('has its reply, its failure and the answer to its command delivered nowhere', async () => {
    const { rig } = webhook;
    const texts = ['Hi [[reply: Hello.]]', 'Hi [[stop: refusal]] [[reply: ]]', '/status'];
    for (const [at, more] of [{ deliver: null }, {}].entries()) {
      for (const text of texts) {
        await rig.post(`/v1/sessions/null-${at}/messages`, { text, ...more });
        await rig.work(`null-${at}`);
      }
    }
    const countOf = async (session: string) => (await rig.get(`/v1/deliveries?session=${session}`)).body.items.length;
    expect([await countOf('null-0'), await countOf('null-1')]).toEqual([0, 3]);
  });

  test('does not share a turn with one whose reply is delivered (G6)', async () => {
    const { rig } = webhook;
    await rig.post('/v1/sessions/apart/messages', { text: 'Quiet [[reply: One.]]', deliver: null });
    await rig.settle('apart', 'Loud [[reply: Two.]]');
    const { items } = (await rig.get('/v1/messages?session=apart')).body;
    expect(items.map(({ status }: { status: string }) => status)).toEqual(['waiting', 'answered']);
  });

  test('can be a batch, an item and a spawn, whose announcement is answered nowhere', async () => {
    const { rig } = webhook;
    const batch = { items: [{ text: 'x', deliver: null }], deliver: null };
    expect((await rig.post('/v1/batches', batch)).status).toBe(201);
    await rig.settle('parent', 'Hi', { deliver: null });
    const spawned = await rig.post('/v1/sessions/parent/spawn', { task: 'Count [[reply: Three.]]', deliver: null });
    expect(spawned.status).toBe(202);
    await rig.work(spawned.body.childSessionKey.replace('agent:main:', ''));
    await rig.work('parent');
    expect((await rig.get('/v1/turns?session=parent')).body.items).toHaveLength(2);
    expect((await rig.get('/v1/deliveries?session=parent')).body.items).toEqual([]);
  });
});
