// A model that no provider serves is refused where it is set, and nothing is stored.
import { expect, test } from 'vitest';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

const refusal = {
  status: 400,
  body: {
    code: 'invalid_body',
    errors: [
      {
        path: 'model',
        message: expect.stringMatching(/^No provider serves the model "nowhere\/x"; use "anthropic\/<model>"/),
      },
    ],
  },
};

test('a message with such a model is refused, and its session is not created', async () => {
  const { rig } = holder;
  const sent = await rig.post('/v1/sessions/told/messages', { text: 'x', model: 'nowhere/x' });
  expect(sent).toMatchObject(refusal);
  expect((await rig.get('/v1/sessions/told')).status).toBe(404);
  expect((await rig.post('/v1/sessions/told/messages', { text: 'x', model: 'anthropic/any' })).status).toBe(202);
});

test('a session keeps its model when such a model is set', async () => {
  const { rig } = holder;
  await rig.post('/v1/sessions/set/messages', { text: 'x' });
  const patch = (model: string | null) => rig.ask('PATCH', '/v1/sessions/set', { payload: { model } });
  expect(await patch('anthropic/any')).toMatchObject({ status: 200 });
  expect(await patch('nowhere/x')).toMatchObject(refusal);
  expect(await patch('gpt')).toMatchObject({ status: 400, body: { errors: [{ path: 'model' }] } });
  expect((await rig.get('/v1/sessions/set')).body.model).toBe('anthropic/any');
  expect((await patch(null)).body.model).toBeNull();
});

test('a subagent with such a model is refused, and none is spawned', async () => {
  const { rig } = holder;
  const spawned = await rig.post('/v1/sessions/parent/spawn', { task: 'x', model: 'nowhere/x' });
  expect(spawned).toMatchObject({ status: 400, body: { errors: [{ path: 'model' }] } });
  expect((await rig.get('/v1/sessions/parent/subagents')).body.items).toEqual([]);
});

test('a cron with such a model is refused, and a change to it leaves the cron as it was', async () => {
  const { rig } = holder;
  const schedule = { kind: 'every', everyMs: 3_600_000 };
  const payload = (model: string) => ({ kind: 'agentTurn', message: 'x', model });
  const wrong = { status: 400, body: { errors: [{ path: 'payload.model' }] } };
  expect(await rig.post('/v1/crons', { schedule, payload: payload('nowhere/x') })).toMatchObject(wrong);
  const { body: cron } = await rig.post('/v1/crons', { schedule, payload: payload('anthropic/any') });
  const changed = await rig.ask('PATCH', `/v1/crons/${cron.id}`, { payload: { payload: payload('nowhere/x') } });
  expect(changed).toMatchObject(wrong);
  expect((await rig.get(`/v1/crons/${cron.id}`)).body.payload).toMatchObject({ model: 'anthropic/any' });
});
