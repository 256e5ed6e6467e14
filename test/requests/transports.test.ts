// Goal: a plugin may serve the models of a provider, and a model that nobody serves is found when the service starts or ends its turn
// with words. Method: services with such a plugin and without, and a model server that must hear nothing of it.
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

test('a message that names a provider which nobody serves is answered with the reason', async () => {
  const { settled, turn } = await answerOf(holder.service.newSession(), { model: 'remote/small' });
  expect(settled).toMatchObject({ status: 'failed' });
  expect(turn.error).toMatchObject({ code: 'unknown_model' });
});

test('a configuration that names a provider which nobody serves stops the start', async () => {
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
