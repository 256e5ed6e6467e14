import { expect, test } from 'vitest';
import { loadConfigWithSources } from '../../src/config.ts';
import { useApiRig } from './use-api-rig.ts';

const { agents } = loadConfigWithSources({ env: {}, cwd: '/nowhere', isTty: false }).config;
const activeHours = { start: '09:00', end: '17:00', timezone: 'Europe/Berlin' };
const when = { command: 'cat /secret/tickets', timeoutSeconds: 5 };
const holder = useApiRig({
  changes: () => ({ agents: { ...agents, list: [{ id: 'main', heartbeat: { activeHours, when } }] } }),
});

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
    // Of the gate only the kind: a command can contain a secret.
    heartbeat: { everyMs: rig.config.agents.defaults.heartbeat.every, activeHours, gate: 'command' },
    crons: { total: 1, enabled: 1 },
    sessions: { count: 1, isCapped: false },
  });
});
