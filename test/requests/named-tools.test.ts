// Goal: no prompt sends an agent to a tool that it does not have. Method: agents of every prompt
// mode and several policies, asked directly, in a group and as subagents of both kinds; what each
// model request names as a tool must be among its tools.
import { expect, test } from 'vitest';
import { BUILT_IN_TOOLS } from '../../src/core/tool-policy.ts';
import { textOf, type ReceivedRequest } from './rig/received-request.ts';
import { useService } from './rig/use-service.ts';

const MODES = ['full', 'minimal', 'none'];
const POLICIES: Readonly<Record<string, object>> = {
  all: {},
  // Their subagents may have subagents of their own.
  deep: {},
  none: { deny: ['*'] },
  few: { deny: ['session_status', 'memory_get', 'read', 'sessions_*', 'subagents', 'message'] },
  fewer: { deny: ['memory_search', 'exec', 'process', 'cron'] },
};
const AGENTS = MODES.flatMap((promptMode) =>
  Object.entries(POLICIES).map(([name, tools]) => ({
    id: `${promptMode}-${name}`,
    promptMode,
    tools,
    subagents: { maxSpawnDepth: name === 'deep' ? 2 : 1 },
  })),
);
const SKILL = '---\nname: brew\ndescription: How to brew tea.\n---\nBoil water.';

const holder = useService({
  config: { agents: { list: [{ id: 'main' }, ...AGENTS] } },
  files: { 'skills/brew/SKILL.md': SKILL, 'MEMORY.md': 'Tea is green.' },
});

/** Other tools that a prompt of such a service has named once, or may. */
const FURTHER = ['gateway', 'apply_patch', 'web_search', 'memory_append'];

/**
 * The tools that a text sends its reader to: a name that is no word, or one in the form of a call
 * or of a name.
 */
function namedTools(text: string): string[] {
  return [...BUILT_IN_TOOLS, ...FURTHER].filter((name) => {
    const forms = [`\`${name}\``, `\\b${name}\\(`, `\\b(?:run|use) ${name}\\b`, `\\b${name} tool\\b`];
    return new RegExp(name.includes('_') ? `\\b${name}\\b` : forms.join('|')).test(text);
  });
}

function missingTools({ body, systemText, messages, headers }: ReceivedRequest): string[] {
  const tools = ((body['tools'] ?? []) as { name: string }[]).map(({ name }) => name);
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content));
  return namedTools([systemText, ...said].join('\n'))
    .filter((name) => !tools.includes(name))
    .map((name) => `${headers['x-holdfast-session']} has no ${name}`);
}

test('every tool that a prompt names is among the tools of its request', async () => {
  const { service } = holder;
  const requests: ReceivedRequest[] = [];
  for (const { id } of [{ id: 'main' }, ...AGENTS]) {
    requests.push((await service.say(`agent:${id}:direct`, 'hi')).request);
    requests.push((await service.say(`agent:${id}:telegram:group:1`, { text: 'hi', chatType: 'group' })).request);
    requests.push(await spawned(`agent:${id}:direct`));
  }
  expect(requests.flatMap(missingTools)).toEqual([]);
  const leaf = requests.find(({ headers }) => headers['x-holdfast-session']?.startsWith('agent:full-all:subagent:'));
  expect(leaf?.systemText).toContain('run session_status');
});

/** The first request of a new subagent of a session. */
async function spawned(parent: string): Promise<ReceivedRequest> {
  const { service } = holder;
  const { status, body } = await service.api.ask('POST', `/v1/sessions/${parent}/spawn`, { task: 'count' });
  expect(status).toBe(202);
  const session = body.childSessionKey as string;
  await expect.poll(() => service.requestsOf(session).length, { interval: 20 }).toBeGreaterThan(0);
  const [request] = service.requestsOf(session);
  if (request === undefined) throw new Error(`The model received no request for ${session}.`);
  return request;
}
