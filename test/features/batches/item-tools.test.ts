// Which tools the items of a batch have, as the model server sees them.
import { expect, test } from 'vitest';
import { itemSessionKey } from '../../../src/features/batches/rules/batch.ts';
import { editTool, createReadTool, writeTool } from '../../../src/tools/file-tools.ts';
import { globTool } from '../../../src/tools/glob-tool.ts';
import { grepTool } from '../../../src/tools/grep-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { batchRig } from './batch-rig.ts';

const shared = useApiRig();

/** Tools as a plugin has them: one that says that it only reads, and one that says nothing. */
function pluginTool(name: string, more: Partial<Tool> = {}): Tool {
  const run = async () => ({ content: name, isError: false });
  return {
    spec: { name, description: name, input_schema: { type: 'object' } },
    summary: name,
    isIdempotent: true,
    run,
    ...more,
  };
}

const TOOLS = [
  createReadTool([]),
  writeTool,
  editTool,
  grepTool,
  globTool,
  pluginTool('lookup', { isReadOnly: true }),
  pluginTool('order'),
];

/** Runs a batch of one item, and returns the names of the tools in its request. */
async function toolsOfItem(item: object, settings: object = {}): Promise<string[]> {
  const batches = batchRig(shared.rig, TOOLS);
  const made = await batches.submit({ ...settings, items: [item] });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const ended = await batches.run(made.body.id);
  expect(ended).toMatchObject({ outcome: 'completed' });
  const key = itemSessionKey(made.body.id, 'main', 1);
  const request = shared.rig.turns.scripted.requests.findLast(({ headers }) => headers['x-holdfast-session'] === key);
  const { tools = [] } = (request?.body ?? {}) as { tools?: { name: string }[] };
  return tools.map(({ name }) => name);
}

test('an item without a list of tools has only tools that read, those of plugins included (G30)', async () => {
  expect(await toolsOfItem({ text: 'Classify this.' })).toEqual(['read', 'grep', 'glob', 'lookup']);
  const deny = { tools: { deny: ['grep'] } };
  expect(await toolsOfItem({ text: 'Classify this.', ...deny })).toEqual(['read', 'glob', 'lookup']);
});

test('a call of a tool that an item does not have is refused, whatever its text says (G30)', async () => {
  const text = '[[tool: write {"path": "taken.txt", "content": "x"}]] [[reply: done]]';
  await toolsOfItem({ text });
  const results = JSON.stringify(shared.rig.turns.scripted.requests.at(-1)?.body);
  expect(results).toContain('Available tools: read, grep, glob, lookup.');
});

test('the list of a batch or of an item says which tools an item has, and an item never has more than its batch', async () => {
  const both = { text: 'Classify this.', tools: { allow: ['read', 'write'] } };
  expect(await toolsOfItem(both)).toEqual(['read', 'write']);
  expect(await toolsOfItem({ text: 'Classify this.' }, { tools: { allow: ['*'], deny: ['edit'] } })).toEqual([
    'read',
    'write',
    'grep',
    'glob',
    'lookup',
    'order',
  ]);
  expect(await toolsOfItem(both, { tools: { allow: ['write', 'edit'] } })).toEqual(['write']);
  expect(await toolsOfItem({ text: 'Classify this.' }, { tools: { allow: [] } })).toEqual([]);
});

test('lines take the tools of their batch from the query, and a batch shows them', async () => {
  const batches = batchRig(shared.rig, TOOLS);
  const tools = { allow: ['read'], deny: ['write'] };
  const made = await batches.submitLines('{"text":"one"}', `?tools=${encodeURIComponent(JSON.stringify(tools))}`);
  expect(made).toMatchObject({ status: 201, body: { tools } });
  expect((await batches.submit({ items: [{ text: 'one' }] })).body).toMatchObject({ tools: null });
});

test('a tool that does not exist is refused, with its place', async () => {
  const batches = batchRig(shared.rig, TOOLS);
  const known = expect.stringContaining('"exec"');
  const ofBatch = await batches.submit({ items: [{ text: 'one' }], tools: { deny: ['exce'] } });
  expect(ofBatch).toMatchObject({
    status: 400,
    body: { code: 'invalid_body', errors: [{ path: 'tools.deny[0]', message: known }] },
  });
  const ofItem = await batches.submit({ items: [{ text: 'one' }, { text: 'two', tools: { allow: ['rede'] } }] });
  expect(ofItem.body.errors).toEqual([
    { path: 'items[1]: tools.allow[0]', message: expect.stringContaining('got "rede"') },
  ]);
  const ofLine = await batches.submitLines('{"text":"one"}', '?tools=exec');
  expect(ofLine.body.errors).toEqual([{ path: 'tools', message: expect.stringContaining('JSON') }]);
});
