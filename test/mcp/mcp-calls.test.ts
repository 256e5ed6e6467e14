// What the ledger makes of calls to MCP servers. A real server of the earlier line of the protocol's library.
import { expect, test } from 'vitest';
import { readToolCalls } from '../rows/calls.ts';
import { counting, rigWith } from './mcp-rig.ts';

test('a call reaches its server with its key, and its result is untrusted (G11, G29)', async () => {
  const server = await counting();
  const rig = await rigWith({ notes: server.settings });
  const [result] = await rig.call([{ tool: 'notes__add' }]);
  expect(result).toMatchObject({ isError: false, status: 'done' });
  expect(result?.text).toMatch(
    /^\[Result of notes \w{12}: written by others\..*\]\nadd none\n\[End of result of notes \w{12}\]$/,
  );
  expect(await server.runs()).toEqual([result?.key]);
});

test('a server that is killed after the call: its outcome is unknown, and what may run twice is sent again (G11)', async () => {
  const server = await counting();
  const rig = await rigWith({ notes: { ...server.settings, tools: { put: { idempotent: true } } } });
  const [added] = await rig.call([{ tool: 'notes__add', input: { fault: 'die' } }]);
  expect(added).toMatchObject({ isError: true, status: 'unknown' });
  expect(added?.text).toMatch(/^outcome unknown: .* was lost: .* Check before repeating it\.$/);
  const [put] = await rig.call([{ tool: 'notes__put', input: { fault: 'die' } }]);
  expect(put).toMatchObject({ isError: false, status: 'done' });
  const [late] = await rig.call([{ tool: 'notes__put', input: { fault: 'die-first' } }]);
  expect(late).toMatchObject({ isError: false, status: 'done' });
  expect((await server.runs()).filter((line) => !line.includes('begun'))).toEqual([added?.key, put?.key, late?.key]);
});

test('a call that a person must approve does not reach its server before (G36)', async () => {
  const server = await counting();
  const rig = await rigWith({ notes: { ...server.settings, tools: { add: { approval: 'always' } } } });
  await rig.play([{ tool: 'notes__add' }, { tool: 'notes__put' }], 'main');
  const ledger = await readToolCalls(rig, {}, 'name', 'status');
  expect(ledger).toEqual([
    { name: 'notes__add', status: 'intent' },
    { name: 'notes__put', status: 'done' },
  ]);
  expect(await server.runs()).toHaveLength(1);
});

test('without servers, a worker has no part of it: no tools to ask for, and nothing that is repeated', async () => {
  const rig = await rigWith({ off: { command: '/nothing/here', enabled: false } });
  expect(rig.part).toEqual({});
  expect(rig.runs.context.features.some(({ tools }) => tools !== undefined)).toBe(false);
});
