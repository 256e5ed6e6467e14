// Plugins from real files: their registrations, and errors that name the plugin and the fault.
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/logger.ts';
import { loadPlugins } from '../../src/plugins/load-plugins.ts';
import { PluginError } from '../../src/plugins/plugin-error.ts';
import type { Plugins } from '../../src/plugins/plugins.ts';
import { aToolCall } from '../tools/tool-call.ts';

const TOOL = `{
  spec: { name: 'hello', description: 'Says hello.', input_schema: { type: 'object' } },
  summary: 'Says hello', isIdempotent: true, greeting: 'hello',
  async run() { return { content: this.greeting, isError: false }; },
}`;

const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
let cwd: string;
let modules = 0;

beforeAll(async () => {
  cwd = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-plugins-')));
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

/** The name of a new module in `cwd`. */
async function aModule(source: string, extension = 'mjs'): Promise<string> {
  const name = `plugin-${++modules}.${extension}`;
  await writeFile(join(cwd, name), source);
  return name;
}

function load(
  names: string[],
  entries: Parameters<typeof loadPlugins>[0]['entries'] = {},
  more: { registerMsMax?: number } = {},
): Promise<Plugins> {
  return loadPlugins({ modules: names, entries }, { logger, cwd, ...more });
}

describe('tools', () => {
  test.each([
    ['a list of tools', `export const tools = [${TOOL}];`],
    ['a function that makes them', `export function createTools() { return [${TOOL}]; }`],
    ['a function that makes them later', `export async function createTools() { return [${TOOL}]; }`],
    ['a registration', `export function register(api) { api.registerTool(${TOOL}); }`],
  ])('a module exports %s', async (_title, source) => {
    const { tools } = await load([await aModule(source)]);
    expect(await tools[0]?.run({}, aToolCall({ workspaceDir: cwd }))).toEqual({ content: 'hello', isError: false });
  });

  test('modules may be TypeScript, at absolute paths, and keep their order', async () => {
    const first = await aModule(`export const tools: unknown[] = [${TOOL.replace('hello', 'first')}];`, 'ts');
    const second = await aModule(`export const tools = [${TOOL.replace('hello', 'second')}];`);
    const { tools } = await load([join(cwd, first), `./${second}`]);
    expect(tools.map((tool) => tool.spec.name)).toEqual(['first', 'second']);
  });

  test('no plugins, no tools, and nothing that a turn has to ask for', async () => {
    const plugins = await load([]);
    expect(plugins.tools).toEqual([]);
    expect([plugins.changesPrompts, plugins.changesBootstrapFiles, plugins.hearsLlmInput]).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe('a plugin is known', () => {
  test('by the name of its file, by that of its folder, or by the id that it exports', async () => {
    await mkdir(join(cwd, 'My Memories'));
    await writeFile(join(cwd, 'My Memories', 'index.mjs'), 'export const tools = [];');
    await writeFile(join(cwd, 'Weather.mjs'), 'export const tools = [];');
    const named = await aModule(`export const id = 'own-name'; export const tools = [];`);
    expect((await load(['My Memories/index.mjs', 'Weather.mjs', named])).ids).toEqual([
      'my-memories',
      'weather',
      'own-name',
    ]);
  });

  test('once', async () => {
    const name = await aModule('export const tools = [];');
    await expect(load([name, name])).rejects.toThrow('another plugin already has the id "plugin-');
  });
});

describe('the configuration speaks of a plugin', () => {
  const REGISTER = `
    export const id = 'chatty';
    export function register(api) {
      globalThis.chattyConfig = api.config;
      api.on('before_prompt_build', () => ({ prependContext: 'hello' }));
      api.on('before_agent_start', () => undefined);
      api.on('agent:bootstrap', () => undefined);
      api.on('llm_input', () => undefined);
      api.registerPromptContribution({ stablePrefix: 'hello' });
      api.registerTextTransform({ input: [{ from: 'a', to: 'b' }], output: [{ from: 'c', to: 'd' }] });
      api.registerTool(${TOOL});
    }`;

  test('with the settings of its own entry in the file', async () => {
    const name = await aModule(REGISTER);
    const path = join(cwd, 'holdfast.json5');
    await writeFile(
      path,
      `{plugins: {modules: ["./${name}"], entries: {chatty: {hooks: {allowPromptInjection: true}, config: {some_key: [1]}}}}}`,
    );
    const config = loadConfig({ env: { HOLDFAST_CONFIG: path }, cwd });
    await loadPlugins(config.plugins, { logger, cwd: '/' });
    expect((globalThis as { chattyConfig?: unknown }).chattyConfig).toEqual({ some_key: [1] });
  });

  test('that must not change prompts keeps its tools, its output and its notifications', async () => {
    const plugins = await load([await aModule(REGISTER)], { chatty: { hooks: { allowPromptInjection: false } } });
    expect([plugins.changesPrompts, plugins.changesBootstrapFiles, plugins.hearsLlmInput]).toEqual([
      false,
      false,
      true,
    ]);
    expect(plugins.contributionsFor('anthropic')).toEqual([]);
    expect(plugins.textTransforms).toEqual({ input: [], output: [{ from: 'c', to: 'd' }] });
    expect(plugins.tools).toHaveLength(1);
  });

  test('that is disabled: nothing of it is registered', async () => {
    const plugins = await load([await aModule(REGISTER)], { chatty: { enabled: false } });
    expect([plugins.changesPrompts, plugins.hearsLlmInput, plugins.tools.length]).toEqual([false, false, 0]);
  });

  test('that does not exist: the start fails', async () => {
    await expect(load([await aModule(REGISTER)], { chaty: {} })).rejects.toThrow(
      'plugin chaty: plugins.entries names it, but the plugins are: chatty',
    );
  });
});

test('contributions are for all providers or for one', async () => {
  const plugins = await load([
    await aModule(`
      export const id = 'contributor';
      export function register(api) {
        api.registerPromptContribution({ stablePrefix: 'all', sectionOverrides: { tool_call_style: '## Tool Call Style' } });
        api.registerPromptContribution({ dynamicSuffix: 'other' }, { provider: 'openai' });
      }`),
  ]);
  expect(plugins.contributionsFor('anthropic')).toEqual([
    {
      origin: 'plugin:contributor',
      stablePrefix: 'all',
      sectionOverrides: { tool_call_style: '## Tool Call Style' },
    },
  ]);
  expect(plugins.contributionsFor('openai')).toHaveLength(2);
});

describe('an error names the plugin and what is wrong', () => {
  const registering = (call: string): string => `export function register(api) { ${call} }`;

  test.each([
    ['a syntax error', 'export const', 'cannot be loaded: '],
    ['a throw while it loads', 'throw new Error("no luck");', 'cannot be loaded: no luck'],
    ['no export', 'export const other = 1;', 'it exports neither `register` nor `tools` nor `createTools`'],
    ['no array', 'export const tools = {};', 'its tools are object, not an array'],
    ['no function', 'export const createTools = [];', '`createTools` is not a function'],
    [
      'a failing function',
      'export function createTools() { throw new Error("no luck"); }',
      'createTools() failed: no luck',
    ],
    ['no tool', 'export const tools = [null];', 'tool 0: value: '],
    ['no name', `export const tools = [{ ...${TOOL}, spec: {} }];`, 'tool 0: spec.name: '],
    [
      'a bad name',
      `export const tools = [${TOOL.replace("'hello'", "'say hello'")}];`,
      'tool 0: spec.name: 1 to 64 of',
    ],
    [
      'no word on idempotency',
      `export const tools = [${TOOL}, ${TOOL.replace('true', 'undefined')}];`,
      'tool 1: isIdempotent: ',
    ],
    ['nothing to run', `export const tools = [{ ...${TOOL}, run: 1 }];`, 'tool 0: run: must be a function'],
    ['a bad id', 'export const id = "Über"; export const tools = [];', 'its id "Über" is not 1 to 64 of'],
    ['a failing registration', registering('throw new Error("no luck");'), 'register() failed: no luck'],
    ['no registration', 'export const register = 1;', '`register` is not a function'],
    [
      'no such hook',
      registering('api.on("before_lunch", () => {});'),
      'there is no hook "before_lunch"; known: before_prompt_build, before_agent_start, agent:bootstrap, llm_input',
    ],
    ['no handler', registering('api.on("llm_input", 1);'), 'the handler of llm_input is not a function'],
    [
      'no priority',
      registering('api.on("llm_input", () => {}, { priority: "high" });'),
      'the priority of llm_input is high, not a number',
    ],
    ['no tool registered', registering('api.registerTool({});'), 'registerTool: spec: '],
    [
      'nothing to replace',
      registering('api.registerTextTransform({ input: [{ from: "", to: "x" }] });'),
      'registerTextTransform: input[0].from: must be a text of 1 to 200 characters',
    ],
    [
      'no section',
      registering('api.registerPromptContribution({ sectionOverrides: { safety: "no" } });'),
      'registerPromptContribution: sectionOverrides.safety: must be one of interaction_style, tool_call_style, execution_bias',
    ],
  ])('%s', async (_title, source, text) => {
    const name = await aModule(source);
    const error = await load([name]).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PluginError);
    expect((error as PluginError).message).toContain(`plugin ${join(cwd, name)}: ${text}`);
  });

  test('a file that does not exist', async () => {
    await expect(load(['./none.mjs'])).rejects.toThrow(`plugin ${join(cwd, 'none.mjs')}: cannot be loaded`);
  });

  test('a registration that does not end', async () => {
    const name = await aModule('export function register() { return new Promise(() => {}); }');
    await expect(load([name], {}, { registerMsMax: 20 })).rejects.toThrow('register() failed: took longer than 20 ms');
  });

  test('a registration after the end', async () => {
    const name = await aModule('export function register(api) { globalThis.lateApi = api; }');
    await load([name]);
    const { lateApi } = globalThis as unknown as { lateApi: { on: (hook: string, handler: () => void) => void } };
    expect(() => lateApi.on('llm_input', () => undefined)).toThrow(
      'on("llm_input") was called after register() had returned',
    );
  });
});

describe('a transport', () => {
  const transport = (provider: string, more = '') =>
    `export function register(api) { api.registerTransport({ name: 'own', provider: '${provider}', send() {}, ${more} }); }`;

  test('serves the provider that it names', async () => {
    const { transports } = await load([await aModule(transport('local')), await aModule(transport('gateway'))]);
    expect(transports.map(({ name, provider }) => `${name} ${provider}`)).toEqual(['own local', 'own gateway']);
    expect((await load([])).transports).toEqual([]);
  });

  test.each([
    [`{ name: 'own', provider: 'local' }`, 'send: must be a function'],
    [`{ name: 'own', provider: 'Local/x', send() {} }`, 'provider: 1 to 64 of a-z 0-9 _ -'],
    [`{ provider: 'local', send() {} }`, 'name: '],
    ['3', 'value: '],
  ])('%s is refused', async (value, fault) => {
    const name = await aModule(`export function register(api) { api.registerTransport(${value}); }`);
    await expect(load([name])).rejects.toThrow(`registerTransport: ${fault}`);
  });

  test('is the only one of its provider', async () => {
    const names = [await aModule(transport('local')), await aModule(transport('local'))];
    await expect(load(names)).rejects.toThrow('another plugin already serves the provider "local"');
  });

  test('is left out for a plugin that must not change prompts', async () => {
    const name = await aModule(`export const id = 'quiet'; ${transport('local')}`);
    const { transports } = await load([name], { quiet: { hooks: { allowPromptInjection: false } } });
    expect(transports).toEqual([]);
  });
});
