import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { batchRig } from '../features/batches/batch-rig.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();
const NOTHING = { turnId: null, sessionKey: null, messageId: null, cron: null, batchId: null };

/** The inputs of the newest turn of a session, after its waiting messages are answered. */
async function inputsOf(session: string) {
  const { rig } = holder;
  await rig.work(session);
  const [turn] = (await rig.get(`/v1/turns?session=${session}&limit=1`)).body.items;
  return { turn, inputs: (await rig.get(`/v1/turns/${turn.id}/inputs`)).body };
}

test('a message of the API was caused by a request, and stands beside the system events of its prompt', async () => {
  const { rig } = holder;
  await rig.post('/v1/sessions/asked/system-events', { text: 'the door is open' });
  const { body } = await rig.post('/v1/sessions/asked/messages', { text: 'hello' });
  const { turn, inputs } = await inputsOf('asked');
  expect(inputs).toMatchObject({
    messages: [{ id: body.message.id, kind: 'message', text: 'hello', cause: { kind: 'request', ...NOTHING } }],
    systemEvents: [{ text: 'the door is open', state: 'consumed', turnId: turn.id, sessionKey: 'agent:main:asked' }],
  });
});

test('a run of a cron names the cron; of a deleted one only the kind remains', async () => {
  const { rig } = holder;
  const cron = (
    await rig.post('/v1/crons', {
      name: 'morning',
      schedule: { kind: 'every', everyMs: 3_600_000 },
      payload: { kind: 'agentTurn', message: 'look around' },
    })
  ).body;
  await rig.post(`/v1/crons/${cron.id}/run`);
  const { turn, inputs } = await inputsOf(`agent:main:cron:${cron.id}`);
  expect(inputs.messages).toMatchObject([
    { kind: 'cron', cause: { ...NOTHING, kind: 'cron', cron: { id: cron.id, name: 'morning' } } },
  ]);
  await rig.ask('DELETE', `/v1/crons/${cron.id}`);
  const later = (await rig.get(`/v1/turns/${turn.id}/inputs`)).body;
  expect(later.messages).toMatchObject([{ cause: { kind: 'cron', ...NOTHING } }]);
});

test('a subagent names the session that spawned it, and its announcement names the subagent', async () => {
  const { rig } = holder;
  const run = (await rig.post('/v1/sessions/parent/spawn', { task: '[[reply: found]]' })).body;
  const child = await inputsOf(run.childSessionKey);
  expect(child.inputs.messages).toMatchObject([
    { cause: { ...NOTHING, kind: 'spawn', sessionKey: 'agent:main:parent' } },
  ]);
  const announced = await inputsOf('parent');
  expect(announced.inputs.messages).toMatchObject([
    { kind: 'announcement', cause: { ...NOTHING, kind: 'subagent', sessionKey: run.childSessionKey } },
  ]);
  expect(announced.inputs.messages[0].text).toContain('[System Message]');
});

test('a retried message of a session that has moved on names the failed turn', async () => {
  const { rig } = holder;
  const { body } = await rig.post('/v1/sessions/again/messages', { text: '[[error: 400]]' });
  const failed = await inputsOf('again');
  await rig.post('/v1/sessions/again/messages', { text: 'meanwhile' });
  await inputsOf('again');
  await rig.post(`/v1/turns/${failed.turn.id}/retry`);
  const { inputs } = await inputsOf('again');
  const cause = { kind: 'retry', turnId: failed.turn.id, sessionKey: 'agent:main:again', messageId: body.message.id };
  expect(inputs.messages).toMatchObject([{ cause: { ...NOTHING, ...cause } }]);
});

test('an item of a batch names the batch until it is deleted', async () => {
  const { rig } = holder;
  const batches = batchRig(rig);
  const batchId = (await batches.submit({ items: [{ text: 'hello' }] })).body.id;
  await batches.run(batchId);
  const [turn] = (await rig.get(`/v1/turns?batch=${batchId}`)).body.items;
  const causeNow = async () => (await rig.get(`/v1/turns/${turn.id}/inputs`)).body.messages[0].cause;
  expect(await causeNow()).toEqual({ ...NOTHING, kind: 'batch', batchId });
  expect((await rig.ask('DELETE', `/v1/batches/${batchId}`)).status).toBeLessThan(300);
  expect(await causeNow()).toEqual({ ...NOTHING, kind: 'batch' });
});

test('a long text is cut after 16,384 characters, and a character of two units stays whole', async () => {
  const { rig } = holder;
  await rig.post('/v1/sessions/long/messages', { text: `${'x'.repeat(16_383)}🎈 [[reply: ok]]` });
  const { inputs } = await inputsOf('long');
  expect(inputs.messages[0].text.length).toBe(16_385);
  expect(inputs.messages[0].text.endsWith('x🎈')).toBe(true);
});

test('an unknown turn is 404', async () => {
  const answer = await holder.rig.get(`/v1/turns/${newId()}/inputs`);
  expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
});
