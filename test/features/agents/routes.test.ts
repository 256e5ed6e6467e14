import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfigWithSources } from '../../../src/config.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const { agents, tools } = loadConfigWithSources({ env: {}, cwd: '/nowhere', isTty: false }).config;
const rules = [{ tools: ['WRITE'], agents: ['main'], when: [], ask: 'once' as const, timeout: 60_000 }];
const activeHours = { start: '09:00', end: '17:00', timezone: 'Europe/Berlin' };
const when = { command: 'cat /secret/tickets', timeoutSeconds: 5 };
const holder = useApiRig({
  changes: () => ({
    agents: { ...agents, list: [{ id: 'main', heartbeat: { activeHours, when } }] },
    tools: { ...tools, deny: ['exec'], approvals: { ...tools.approvals, rules } },
  }),
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

test('one agent is shown with its instructions, tools, crons, budgets, chats, failures, costs and pause', async () => {
  const { rig } = holder;
  const [agent] = (await rig.get('/v1/agents')).body.items;
  const dir = agent.workspace;
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'AGENTS.md'), '# Rules\n\nBe brief.');
  await rig.settle('rules', '[[reply: ok]]');
  await writeFile(join(dir, 'AGENTS.md'), '# Rules\n\nBe kind.');
  await rig.settle('other-rules', '[[reply: ok]]');
  const { turnId } = await rig.settle('broken', '[[error: 400 message="no"]]');
  const turn = (await rig.get(`/v1/turns/${turnId}`)).body;
  await rig.post('/v1/budgets', { scope: 'agent:main', per: 'day', limitUsd: 5 });
  await rig.post('/v1/budgets', { scope: 'agent:other', per: 'day', limitUsd: 5 });
  const { body } = await rig.get('/v1/agents/main');
  expect(body).toMatchObject({
    id: 'main',
    model: agent.model,
    fallbacks: agent.fallbacks,
    paused: null,
    cronList: [{ name: 'tea' }],
    budgets: [{ scope: 'agent:main', limitUsd: 5 }],
    channels: { isDefault: true, bindings: [] },
    mcpServers: [],
    lastFailures: [
      { turnId, code: turn.error.code, since: turn.endedAt, nextStep: turn.nextStep, sessionTitle: 'broken' },
    ],
    week: { turns: 3, failedTurns: 1, costMicros: body.days[0].costMicros },
  });
  expect(body.days).toHaveLength(1);
  const instructions = body.instructions.find(({ name }: { name: string }) => name === 'AGENTS.md');
  expect(instructions.text).toBe('# Rules\n\nBe kind.');
  expect(instructions.versions).toMatchObject([{ turnId, chars: 17 }, { chars: 18 }]);
  const toolOf = (name: string) => body.toolList.find((tool: { name: string }) => tool.name === name);
  expect(toolOf('exec')).toMatchObject({ origin: 'holdfast', isAllowed: false, because: 'tools.deny', approval: null });
  expect(toolOf('write')).toMatchObject({ isAllowed: true, because: null, approval: 'once' });
  // The rig gives its agents a tool of its own, as a plugin does.
  expect(toolOf('echo')).toMatchObject({ origin: 'plugin', isOffered: true });
  expect((await rig.get('/v1/agents/nobody')).status).toBe(404);

  await rig.post('/v1/pause', { agent: 'main', reason: 'a new model' });
  expect((await rig.get('/v1/agents/main')).body.paused).toMatchObject({ agent: 'main', reason: 'a new model' });
  await rig.post('/v1/resume', { agent: 'main' });
  expect((await rig.get('/v1/agents')).body.items[0].paused).toBeNull();
});
