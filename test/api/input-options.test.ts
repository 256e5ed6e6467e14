// The options of inputs over HTTP: what is refused, and what a turn gets.
import { expect, test } from 'vitest';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

const cron = { schedule: { kind: 'every', everyMs: 60_000 }, payload: { kind: 'agentTurn', message: 'Report.' } };

/** Every way to start turns, with the path of a request and a body that is right. */
const WAYS: [string, object][] = [
  ['/v1/sessions/refused/messages', { text: 'hello' }],
  ['/v1/sessions/refused/spawn', { task: 'count' }],
  ['/v1/crons', cron],
  ['/v1/batches', { items: [{ text: 'one' }] }],
];

test.each(WAYS)(
  'POST %s refuses tools that do not exist, and names the field, the value and what is allowed',
  async (path, body) => {
    const named = await holder.rig.post(path, { ...body, tools: { allow: ['read'], deny: ['write', 'exce'] } });
    expect(named).toMatchObject({
      status: 400,
      body: {
        code: 'invalid_body',
        errors: [{ path: 'tools.deny[1]', message: expect.stringMatching(/exec.*"exce"/) }],
      },
    });
    const shaped = await holder.rig.post(path, { ...body, tools: ['read'] });
    expect(shaped).toMatchObject({ status: 400, body: { errors: [{ path: 'tools' }] } });
  },
);

test('a message with tools is answered by a turn that has only those', async () => {
  const { rig } = holder;
  const sent = await rig.post('/v1/sessions/narrow/messages', { text: '[[tool: echo {}]]', tools: { allow: [] } });
  expect(sent.status).toBe(202);
  await rig.work('narrow');
  expect((await rig.get(`/v1/messages/${sent.body.message.id}`)).body.status).toBe('answered');
  expect(JSON.stringify(rig.turns.scripted.requests.at(-1)?.body)).toContain('Available tools: none.');
});
