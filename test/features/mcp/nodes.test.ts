// Paired nodes: MCP servers behind the tool `nodes`. An invocation is a call of the node's own
// tool, to everything that judges calls.
import { expect, test } from 'vitest';
import { approvals } from '../../../src/features/approvals/views.ts';
import { listServers } from '../../../src/features/mcp/views.ts';
import { counting, rigWith } from './mcp-rig.ts';
import { EVERYTHING } from '../../../src/core/scope.ts';

/** Turns with these servers, whose tools are all listed. */
async function listedRig(...parts: Parameters<typeof rigWith>) {
  const rig = await rigWith(...parts);
  const states = async () => (await listServers(rig.config, rig.database.views)).map(({ state }) => state);
  await expect
    .poll(() => rig.round().then(states), { timeout: 120_000 })
    .toEqual(Object.keys(parts[0]).map(() => 'connected'));
  return rig;
}

const invoke = (tool: string, fault = 'none', node = 'phone') => ({
  tool: 'nodes',
  input: { action: 'invoke', node, tool, input: { fault } },
});

test('agents list, describe and invoke nodes with one tool', async () => {
  const [phone, notes] = [await counting(), await counting()];
  const rig = await listedRig({
    phone: { ...phone.settings, node: true, tools: { deny: ['env'] } },
    notes: { ...notes.settings, tools: { allow: ['peek'] } },
  });
  const [list, all, one, add] = await rig.call([
    { tool: 'nodes', input: { action: 'list' } },
    { tool: 'nodes', input: { action: 'describe', node: 'phone' } },
    { tool: 'nodes', input: { action: 'describe', node: 'phone', tool: 'put' } },
    invoke('add'),
  ]);
  expect(list?.text).toContain('\nphone: connected; add, peek, put\n');
  expect(all?.text.match(/^\w+: \w+ a note$/gm)).toEqual(['add: add a note', 'peek: peek a note', 'put: put a note']);
  expect(one?.text.match(/^\w+: .* a note$/gm)).toEqual(['put: put a note']);
  expect(add).toMatchObject({ status: 'done', isError: false });
  expect(await phone.runs()).toEqual([add?.key]);
  const [wrongNode, wrongTool] = await rig.call([invoke('add', 'none', 'phones'), invoke('sing')]);
  expect(wrongNode?.text).toBe('nodes: node: there is no node "phones". Did you mean phone?');
  expect(wrongTool?.text).toBe('nodes: tool: there is no tool "sing". There are: add, peek, put');
  expect(rig.toolsShown().map(({ name }) => name)).toEqual(['nodes', 'notes__peek']);
});

test('the ledger judges an invocation as a call of its tool (G11)', async () => {
  const phone = await counting();
  const rig = await listedRig({ phone: { ...phone.settings, node: true, trust: 'hints' } });
  const [put] = await rig.call([invoke('put', 'die')]);
  const [add] = await rig.call([invoke('add', 'die')]);
  expect(put).toMatchObject({ status: 'done', isError: false });
  expect(add).toMatchObject({ status: 'unknown', isError: true });
  expect(await phone.runs()).toEqual([put?.key, add?.key]);
});

test('policies and approvals judge an invocation by the name of its tool (G30, G36)', async () => {
  const phone = await counting();
  const node = { ...phone.settings, node: true, tools: { put: { approval: 'always' } } };
  const rig = await listedRig({ phone: node }, { settings: { tools: { deny: ['phone__add'] } } });
  const [add] = await rig.call([invoke('add')]);
  expect(add?.text).toMatch(/^nodes: tool: there is no tool "add"/);
  await rig.play([invoke('put')], 'main');
  const { items } = await approvals.list(rig.database.views, { scope: EVERYTHING }, { after: null, limit: 10 });
  expect(items).toMatchObject([{ tool: 'phone__put', status: 'open' }]);
  expect(await phone.runs()).toEqual([]);

  const without = await listedRig({ phone: node }, { settings: { tools: { deny: ['nodes'] } } });
  await without.call([{ tool: 'nodes', input: { action: 'list' } }]);
  expect(without.toolsShown()).toEqual([]);
});
