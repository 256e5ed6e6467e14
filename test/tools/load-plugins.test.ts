// Plugins from real files: their tools, and errors that say which plugin is wrong and how.
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadPluginTools, PluginError } from '../../src/tools/load-plugins.ts';
import { aToolCall } from './workspace.ts';

const TOOL = `{
  spec: { name: 'hello', description: 'Says hello.', input_schema: { type: 'object' } },
  summary: 'Says hello', isIdempotent: true, greeting: 'hello',
  async run() { return { content: this.greeting, isError: false }; },
}`;

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

test.each([
  ['a list of tools', `export const tools = [${TOOL}];`],
  ['a function that makes them', `export function createTools() { return [${TOOL}]; }`],
  ['a function that makes them later', `export async function createTools() { return [${TOOL}]; }`],
])('a module exports %s', async (_title, source) => {
  const [tool] = await loadPluginTools([await aModule(source)], { cwd });
  expect(await tool?.run({}, aToolCall({ workspaceDir: cwd }))).toEqual({ content: 'hello', isError: false });
});

test('modules may be TypeScript, at absolute paths, and keep their order', async () => {
  const first = await aModule(`export const tools: unknown[] = [${TOOL.replace('hello', 'first')}];`, 'ts');
  const second = await aModule(`export const tools = [${TOOL.replace('hello', 'second')}];`);
  const tools = await loadPluginTools([join(cwd, first), `./${second}`], { cwd });
  expect(tools.map((tool) => tool.spec.name)).toEqual(['first', 'second']);
});

test('no plugins, no tools', async () => {
  expect(await loadPluginTools([], { cwd })).toEqual([]);
});

describe('an error names the plugin and what is wrong', () => {
  test.each([
    ['a syntax error', 'export const', 'cannot be loaded: '],
    ['a throw while it loads', 'throw new Error("no luck");', 'cannot be loaded: no luck'],
    ['no export', 'export const other = 1;', 'it exports neither `tools` nor `createTools`'],
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
  ])('%s', async (_title, source, text) => {
    const name = await aModule(source);
    const error = await loadPluginTools([name], { cwd }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PluginError);
    expect((error as PluginError).message).toContain(`plugin ${join(cwd, name)}: ${text}`);
  });

  test('a file that does not exist', async () => {
    await expect(loadPluginTools(['./none.mjs'], { cwd })).rejects.toThrow(
      `plugin ${join(cwd, 'none.mjs')}: cannot be loaded`,
    );
  });
});
