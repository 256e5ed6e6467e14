import { expect, test } from 'vitest';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

test('agents are listed with their settings, their crons and their sessions', async () => {
  const { rig } = holder;
  await rig.post('/v1/sessions/one/messages', { text: 'x' });
  const cron = {
    name: 'tea',
    schedule: { kind: 'every', everyMs: 60_000 },
    payload: { kind: 'systemEvent', text: 'x' },
  };
  await rig.post('/v1/crons', cron);
  const { body } = await rig.get('/v1/agents');
  const [agent] = rig.config.agents.list;
  expect(body.items).toHaveLength(rig.config.agents.list.length);
  expect(body.items[0]).toMatchObject({
    id: agent?.id,
    model: expect.stringMatching(/^\w+\/./),
    heartbeat: { everyMs: rig.config.agents.defaults.heartbeat.every },
    crons: { total: 1, enabled: 1 },
    sessions: { count: 1, isCapped: false },
  });
});
