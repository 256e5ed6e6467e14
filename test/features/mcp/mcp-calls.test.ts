// What the ledger makes of calls to MCP servers. A real server of the earlier line of the
// protocol's library.
import { expect, test } from 'vitest';
import { readToolCalls } from '../../rows/calls.ts';
import { counting, rigWith } from './mcp-rig.ts';

test('calls reach a server once, with their keys; an outcome is unknown, and what a person must approve waits (G11, G29, G36)', async () => {
  const server = await counting();
  const tools = { put: { idempotent: true }, peek: { approval: 'always' } };
  const rig = await rigWith({ notes: { ...server.settings, tools } });

  const [first] = await rig.call([{ tool: 'notes__add' }]);
  expect(first).toMatchObject({ isError: false, status: 'done' });
  expect(first?.text).toMatch(
    /^\[Result of notes \w{12}: written by others\..*\]\nadd none\n\[End of result of notes \w{12}\]$/,
  );

  // The server is killed after it has run a call: one that may run twice is sent again.
  const [added] = await rig.call([{ tool: 'notes__add', input: { fault: 'die' } }]);
  expect(added).toMatchObject({ isError: true, status: 'unknown' });
  expect(added?.text).toMatch(/^outcome unknown: .* was lost: .* Check before repeating it\.$/);
  const [put] = await rig.call([{ tool: 'notes__put', input: { fault: 'die' } }]);
  expect(put).toMatchObject({ isError: false, status: 'done' });

  await rig.play([{ tool: 'notes__peek' }], 'held');
  expect(await readToolCalls(rig, { name: 'notes__peek' }, 'status')).toEqual([{ status: 'intent' }]);
  expect(await server.runs()).toEqual([first?.key, added?.key, put?.key]);
});

test('without servers, a worker has no part of it: no tools to ask for, and nothing that is repeated', async () => {
  const rig = await rigWith({ off: { command: '/nothing/here', enabled: false } });
  expect(rig.part).toEqual({});
  const offered = await Promise.all(
    rig.runs.context.features.map(async ({ tools }) => (await tools?.('main', {})) ?? null),
  );
  expect(offered.filter((tools) => tools !== null)).toEqual([]);
});
