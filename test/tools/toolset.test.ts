// Policy, order and bytes of an agent's tools.
import { describe, expect, test } from 'vitest';
import { BUILT_IN_TOOLS, isToolAllowed, type ToolPolicy } from '../../src/core/tool-policy.ts';
import { createCoreTools } from '../../src/tools/core-tools.ts';
import { FEATURES } from '../../src/features.ts';
import { createMemoryTools } from '../../src/features/memory/tools.ts';
import type { Service } from '../../src/kernel/use-cases/service.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { createToolset, type ChangingTools, DuplicateToolError, unknownToolOutcome } from '../../src/tools/toolset.ts';

function toolsNamed(...names: string[]): Tool[] {
  return names.map((name) => ({
    spec: { name, description: `does ${name}`, input_schema: { type: 'object' } },
    summary: '',
    isIdempotent: true,
    run: () => Promise.resolve({ content: name, isError: false }),
  }));
}

function namesOf(names: readonly string[], policy?: ToolPolicy | ToolPolicy[]): string[] {
  const tools = toolsNamed(...names);
  return createToolset(policy === undefined ? { tools } : { tools, policy }).specs.map((spec) => spec.name);
}

function unused(): never {
  throw new Error('No tool is run here.');
}

const store = {
  begin: unused,
  noteStart: unused,
  end: unused,
  renew: unused,
  readControls: unused,
  takeLost: unused,
  list: unused,
  find: unused,
  askToKill: unused,
  addInput: unused,
  notePoll: unused,
  trimInputs: unused,
};
const keeper = { run: unused, wait: unused, poll: unused };

const search = { timeoutSeconds: 10, brave: { apiKey: 'key' }, tavily: {}, exa: {}, searxng: {} };

/** For tools that are not run. */
const service = new Proxy(
  {},
  {
    get: (_, name) =>
      name === 'config'
        ? {
            tools: {
              canvas: { enabled: true },
              gateway: { enabled: true },
              search,
              image: {},
              imageGenerate: {},
              tts: {},
            },
          }
        : unused,
  },
) as Service;

const coreTools = createCoreTools({
  exec: { timeoutSeconds: 1_800, environment: {}, background: { keeper, dataDir: '', timeoutSeconds: 7_200 } },
  process: { store, keeper, dataDir: '' },
  webFetch: { timeoutSeconds: 30, maxBytes: 1, allowPrivate: [] },
  message: {
    channels: { known: [], open: [] },
    featuresOf: () => ({ media: false, reactions: false }),
    mediaRoots: [],
    fileBytesMaxOn: () => 0,
    outgoing: '/nowhere',
    chat: unused,
    post: unused,
  },
  sessionStatus: { status: async () => ({ now: new Date(0) }), setModel: async () => null },
});

describe('policy (G30)', () => {
  test.each<[string, ToolPolicy, boolean]>([
    ['exec', {}, true],
    ['exec', { allow: [] }, false],
    ['exec', { allow: ['exec'] }, true],
    ['exec', { allow: ['read'] }, false],
    ['exec', { deny: ['exec'] }, false],
    ['exec', { allow: ['exec'], deny: ['exec'] }, false],
    ['exec', { allow: ['*'], deny: ['e*'] }, false],
    ['Exec', { allow: ['eXEC'] }, true],
    ['exec', { deny: [' EXEC '] }, false],
    ['memory_get', { deny: ['memory_*'] }, false],
    ['memory', { deny: ['memory_*'] }, true],
    ['my_memory_get', { deny: ['memory_*'] }, true],
    ['sessions_send', { allow: ['*_send'] }, true],
    ['sessions_send', { allow: ['s*s*d'] }, true],
    ['exec', { allow: ['exe'] }, false],
    ['exec', { allow: ['e.*c', 'e?ec', '[e]xec', ''] }, false],
    ['a-b', { allow: ['a-b'] }, true],
  ])('%s under %j: %s', (name, policy, isAllowed) => {
    expect(isToolAllowed({ name, isReadOnly: false }, policy)).toBe(isAllowed);
  });

  test('several policies must all allow a tool', () => {
    const policy = [{ allow: ['read', 'exec'] }, { deny: ['exec'] }];
    expect(namesOf(['read', 'exec', 'write'], policy)).toEqual(['read']);
  });

  test('a denied tool is neither shown nor found', () => {
    const toolset = createToolset({ tools: toolsNamed('read', 'exec'), policy: { deny: ['exec'] } });
    expect(toolset.tools.map((tool) => tool.spec.name)).toEqual(['read']);
    expect(toolset.findTool('exec')).toBeUndefined();
  });
});

test('tools that change get the policies and the names of the others, and take their places by name', () => {
  const choose: ChangingTools['choose'] = ({ isAllowed, isTaken }) =>
    toolsNamed('wiki__page', 'wiki__drop', 'Mail').filter((tool) => isAllowed(tool) && !isTaken(tool.spec.name));
  const policy = { deny: ['*__drop'] };
  const toolset = createToolset({ tools: toolsNamed('zip', 'mail'), policy, changing: [{ version: '1', choose }] });
  expect(toolset.specs.map(({ name }) => name)).toEqual(['mail', 'wiki__page', 'zip']);
});

describe('order', () => {
  test('well-known tools come first in their order, others after them by name', () => {
    const names = [
      'zeta',
      'session_status',
      'Alpha',
      'alpha2',
      'exec',
      'glob',
      'read',
      'http_effect',
      'ls',
      'find',
      'grep',
    ];
    expect(namesOf(names)).toEqual(
      'read grep find glob ls exec session_status Alpha alpha2 http_effect zeta'.split(' '),
    );
  });

  test('the order in which tools are registered does not matter', () => {
    const names = ['b', 'a', 'exec', 'read'];
    expect(namesOf(names)).toEqual(namesOf(names.toReversed()));
  });
});

describe('finding', () => {
  const toolset = createToolset({ tools: toolsNamed('read', 'Exec') });

  test('is exact, except for blanks around the name', () => {
    expect(toolset.findTool(' read\n')?.spec.name).toBe('read');
    expect(toolset.findTool('Exec')?.spec.name).toBe('Exec');
    expect(toolset.findTool('exec')).toBeUndefined();
    expect(toolset.findTool('constructor')).toBeUndefined();
  });

  test('an unknown tool is answered with the known ones', () => {
    expect(unknownToolOutcome('run', toolset)).toEqual({
      content: 'Unknown tool "run". Available tools: read, Exec.',
      isError: true,
    });
  });
});

test('two tools of one name are refused', () => {
  expect(() => createToolset({ tools: toolsNamed('read', 'Read') })).toThrow(DuplicateToolError);
});

test('a spec has only the fields that the API of the model accepts', () => {
  const [tool] = toolsNamed('a');
  const extended = { ...tool, spec: { ...tool?.spec, note: 'x' } } as Tool;
  expect(Object.keys(createToolset({ tools: [extended] }).specs[0] ?? {})).toEqual([
    'name',
    'description',
    'input_schema',
  ]);
});

describe('the core tools', () => {
  const toolset = createToolset({ tools: [...coreTools, ...createMemoryTools(service)] });

  test('declare whether they can run twice (G11)', () => {
    expect(Object.fromEntries(toolset.tools.map((tool) => [tool.spec.name, tool.isIdempotent]))).toEqual({
      read: true,
      write: true,
      edit: false,
      grep: true,
      glob: true,
      exec: false,
      process: true,
      web_fetch: true,
      message: true,
      session_status: true,
      memory_get: true,
      memory_search: true,
    });
  });

  test('have names that a policy can contain, as do all tools of Holdfast', async () => {
    const ofFeatures = await Promise.all(FEATURES.map(async ({ tools }) => (await tools?.())?.(service) ?? []));
    const names = [...coreTools, ...ofFeatures.flat()].map((tool) => tool.spec.name);
    // Made in turns, from the tools that MCP servers have.
    names.push('nodes');
    expect(names.toSorted()).toEqual(BUILT_IN_TOOLS.toSorted());
  });

  test('keep the bytes of their specs, on which the prompt cache depends', () => {
    expect(JSON.stringify(toolset.specs, undefined, 1)).toMatchSnapshot();
  });

  test('are those of files and status when everything else is switched off', () => {
    const tools = createCoreTools({
      sessionStatus: { status: async () => ({ now: new Date(0) }), setModel: async () => null },
    });
    expect(tools.map((tool) => tool.spec.name)).toEqual(['read', 'write', 'edit', 'grep', 'glob', 'session_status']);
  });
});
