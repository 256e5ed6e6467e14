// Tools that run as tasks at their server: the turn is parked, any worker asks for the task, and it
// runs once. A real server over HTTP.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { abortSession } from '../../../src/kernel/effects/control.ts';
import { viewTurn } from '../../../src/kernel/views/turns.ts';
import { readToolCalls } from '../../rows/calls.ts';
import { changeDoorbells } from '../../rows/doorbells.ts';
import { ago, now, table } from '../../rows/table.ts';
import { counting, rigWith } from './mcp-rig.ts';

const TASKS = join(import.meta.dirname, 'task-server.ts');

const { change: changeMcpTasks } = table('mcp_tasks', 'ordinal', { time: 'begunAt' });

/** With other servers, its tools stand behind `mcp_call`. */
async function aTaskServer(tools: object = {}, others: Record<string, object> = {}) {
  const server = await counting({}, TASKS);
  const port = await server.listen();
  const address = `http://127.0.0.1:${port}`;
  const rig = await rigWith({ far: { url: `${address}/mcp`, tools }, ...others }, { toolsMax: 1 });
  /** Lets a worker ask for the tasks of a session. */
  async function ask(session: string) {
    await changeDoorbells(rig, { sessionId: await rig.sessionOf(session) }, { dueAt: now });
    return (await rig.worker().run(session)).kind;
  }
  /** The same until its turn has ended. */
  async function playOn(session: string): Promise<void> {
    await expect.poll(() => ask(session), { timeout: 120_000, interval: 200 }).toBe('ended');
  }
  /** The tasks are lost. */
  async function restart(): Promise<void> {
    await server.stop();
    await server.listen(port);
  }
  const post = (path: string) => fetch(`${address}${path}`, { method: 'POST' });
  return { server, rig, ask, playOn, restart, post };
}

test('a task runs once while its turn is parked; another worker brings its result (G11)', async () => {
  const { server, rig, playOn } = await aTaskServer();
  await rig.play([{ tool: 'far__long', input: { ms: 2_000 } }], 'main');
  const [call] = await readToolCalls(rig, {}, 'turnId', 'callId', 'status');
  expect(await viewTurn(rig.database.views, String(call?.turnId))).toMatchObject({
    status: 'parked',
    why: { code: 'task', text: 'The turn waits for a task of far__long to end.' },
  });
  await playOn('main');
  const [result] = await rig.readResults();
  expect(result).toMatchObject({ status: 'done', isError: false });
  expect(result?.text).toContain('the result of the task');
  expect(await server.runs()).toEqual([result?.key, `${result?.key} completed`]);

  await rig.play([{ tool: 'far__long', input: { ms: 100, end: 'failed' } }], 'other');
  await playOn('other');
  const [failed] = await rig.readResults();
  expect(failed).toMatchObject({ status: 'failed', isError: true });
});

test('a task whose server has lost it has an unknown outcome, and is not begun again (G11)', async () => {
  const { server, rig, playOn } = await aTaskServer();
  const port = Number(new URL(rig.config.mcp.servers['far']?.url ?? '').port);
  await rig.play([{ tool: 'far__long', input: { ms: 60_000 } }], 'main');
  await server.stop();
  // A server that is away may come back: the call waits.
  await changeDoorbells(rig, { sessionId: await rig.sessionOf('main') }, { dueAt: now });
  expect(await rig.worker().run('main')).toMatchObject({ kind: 'parked' });
  await server.listen(port);
  await playOn('main');
  const [result] = await rig.readResults();
  expect(result).toMatchObject({ status: 'unknown', isError: true });
  expect(await server.runs()).toEqual([result?.key]);
});

test('an idempotent task that its server has lost is begun again once, and not after its day (G11)', async () => {
  const notes = await counting();
  const { server, rig, ask, playOn, restart, post } = await aTaskServer(
    { long: { idempotent: true } },
    { notes: notes.settings },
  );
  // The tools behind `mcp_call` differ in what they may do twice.
  const call = { tool: 'mcp_call', input: { name: 'far__long', input: {} } };
  await rig.play([call], 'main');
  await restart();
  await expect.poll(() => ask('main').then(() => server.runs()), { timeout: 120_000 }).toHaveLength(2);
  expect([await ask('main'), await ask('main')]).toEqual(['parked', 'parked']);
  expect(await server.runs()).toHaveLength(2);
  await post('/end');
  await playOn('main');
  const [result] = await rig.readResults();
  expect(result).toMatchObject({ status: 'done' });
  expect(await server.runs()).toEqual([result?.key, result?.key, `${result?.key} completed`]);

  await rig.play([call], 'late');
  await restart();
  await changeMcpTasks(rig, {}, { begunAt: ago('25 hours') });
  await playOn('late');
  const [late] = await rig.readResults();
  expect(late).toMatchObject({ status: 'unknown' });
  expect((await server.runs()).slice(3)).toEqual([late?.key]);
});

test('a call waits for its task while the server fails to look for it (G11)', async () => {
  const { rig, ask, playOn, post } = await aTaskServer();
  await rig.play([{ tool: 'far__long' }], 'main');
  await post('/fail');
  expect(await ask('main')).toBe('parked');
  await post('/fail');
  await post('/end');
  await playOn('main');
  expect(await rig.readResults()).toMatchObject([{ status: 'done' }]);
});

test('a task is cancelled at its server when its turn is aborted', async () => {
  const { server, rig } = await aTaskServer();
  await rig.play([{ tool: 'far__long', input: { ms: 2_000 } }], 'main');
  await abortSession(rig, { sessionKey: 'agent:main:main', keepQueued: false });
  await rig.worker().run('main');
  await expect.poll(() => rig.round().then(() => server.runs()), { timeout: 120_000, interval: 200 }).toHaveLength(2);
  expect((await server.runs())[1]).toMatch(/ cancelled$/);
});
