// Goal: a plugin may serve the models of a provider, and a model that no provider serves is refused
// when the service starts or when it is set. Method: services with such a plugin and without, and a
// model server that must hear nothing of it.
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openServiceRig } from '../service/rig/service-rig.ts';
import { useService } from './rig/use-service.ts';

const plugin = fileURLToPath(new URL('rig/capitals-transport.ts', import.meta.url));
const config = {
  plugins: [plugin],
  agents: { defaults: { models: { loud: 'local/small' } }, list: [{ id: 'main' }, { id: 'own', model: 'loud' }] },
};
const holder = useService({ config });

async function answerOf(session: string, message: object) {
  const { api } = holder.service;
  const { turnId, ...settled } = await api.settled(await api.send(session, { text: 'hello there', ...message }));
  return { settled, turn: (await api.ask('GET', `/v1/turns/${turnId}`)).body as { error: unknown; usage: object } };
}

test('the models of a plugin answer agents and messages that name them', async () => {
  const { service } = holder;
  expect((await answerOf('agent:own:x', {})).settled).toMatchObject({ status: 'answered', reply: 'HELLO THERE' });
  const { settled, turn } = await answerOf(service.newSession(), { model: 'local/small' });
  expect(settled).toMatchObject({ status: 'answered', reply: 'HELLO THERE' });
  expect(turn).toMatchObject({ error: null, usage: { inputTokens: 7, outputTokens: 2 } });
  expect(service.rig.model.requests).toEqual([]);
});

test('a message whose model no plugin and no built-in provider serves is refused with the reason', async () => {
  const { service } = holder;
  const path = `/v1/sessions/${service.newSession()}/messages`;
  const answer = await service.api.ask('POST', path, { text: 'hello', model: 'remote/small' });
  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_body', errors: [{ path: 'model' }] } });
  expect(answer.body.detail).toContain('"local/<model>", "anthropic/<model>", or an alias: loud');
});

test('a configuration that names a provider without a transport stops the start', async () => {
  const defaults = { model: 'remote/small' };
  const rig = await openServiceRig({ queue: 'postgres', config: { ...config, agents: { defaults } } });
  try {
    await expect(rig.start('worker')).rejects.toThrow(
      'agents.defaults.model is "remote/small"; allowed: "local/<model>", "anthropic/<model>"',
    );
  } finally {
    await rig.close();
  }
});
