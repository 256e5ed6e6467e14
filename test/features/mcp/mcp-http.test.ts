// What becomes of calls to servers over HTTP that answer with an error, or with too much. Real
// servers of both lines of the protocol's library.
import { expect, test } from 'vitest';
import { requestMcpList } from '../../../src/features/mcp/store/servers.ts';
import { listServers } from '../../../src/features/mcp/views.ts';
import { readToolCalls } from '../../rows/calls.ts';
import { counting, MODERN, rigWith } from './mcp-rig.ts';

async function aServer({ env = {}, script }: { env?: Record<string, string>; script?: string } = {}) {
  const server = await counting(env, script);
  const url = `http://127.0.0.1:${await server.listen()}/mcp`;
  const rig = await rigWith({ far: { url, tools: { put: { idempotent: true } } } });
  return { server, rig };
}

test.each([
  { line: 'earlier', tool: 'far__add' },
  { line: 'newer', tool: 'far__ask', script: MODERN },
])('a server of the $line line whose gateway answers with an error runs each call once (G11)', async (of) => {
  const { server, rig } = await aServer(of);
  const statuses = ['400', '409', '422', '401', '403', '413', '429'];
  const results = await rig.call(statuses.map((fault) => ({ tool: of.tool, input: { fault } })));
  const wasSent = ['unknown', 'unknown', 'unknown'];
  expect(results.map(({ status }) => status)).toEqual([...wasSent, 'failed', 'failed', 'failed', 'failed']);
  expect(results.map(({ text }) => /HTTP (\d+)/.exec(text)?.[1])).toEqual(statuses);
  expect(results[3]?.text).toContain('check `auth` or `headers`');
  expect(results[6]?.text).toContain('limits how often it is called');
  expect((await server.runs()).toSorted()).toEqual(results.map(({ key }) => key).toSorted());
});

test('a call that fails leaves those that share its connection alone, also when the server has forgotten the session (G11)', async () => {
  const { server, rig } = await aServer();
  const slow = rig.play([{ tool: 'far__add', input: { fault: 'until-open' } }], 'slow');
  await expect.poll(() => server.runs(), { timeout: 120_000 }).toHaveLength(1);

  await rig.call([{ tool: 'far__add', input: { fault: 'break-list' } }], 'list');
  await requestMcpList(rig.database, 'far');
  await rig.round();
  expect(await listServers(rig.config, rig.database.views)).toMatchObject([{ state: 'lost' }]);

  const call = (tool: string, fault: string) => rig.call([{ tool: `far__${tool}`, input: { fault } }], 'other');
  expect(await call('add', '409')).toMatchObject([{ status: 'unknown' }]);
  expect(await call('put', '409')).toMatchObject([{ status: 'done' }]);
  expect(await call('add', 'forget-404')).toMatchObject([{ status: 'done' }]);
  expect(await call('add', 'forget-400')).toMatchObject([{ status: 'done' }]);

  await call('add', 'open');
  await slow;
  expect(await readToolCalls(rig, { sessionKey: 'agent:main:slow' }, 'status')).toEqual([{ status: 'done' }]);
});

test.each([
  { how: 'in one piece', tool: 'far__ask', script: MODERN },
  { how: 'as an event', tool: 'far__add' },
  { how: 'as an event of a stream that can be resumed', tool: 'far__add', env: { KEEP_EVENTS: '1' } },
])('an answer that would fill the memory of a worker is not read, sent $how (G28)', async (of) => {
  const { rig } = await aServer(of);
  const [result] = await rig.call([{ tool: of.tool, input: { fault: 'huge' } }]);
  expect(result).toMatchObject({ status: 'unknown', text: expect.stringContaining('too large') as string });
});
