// MCP servers in a running service: what the commands show, what becomes of calls whose worker is
// killed, and that no process of a server is left (G11, G24).
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { runCli } from '../cli/run-cli.ts';
import { judgeCalls } from '../features/mcp/judge-calls.ts';
import { countingServer } from '../features/mcp/mcp-rig.ts';
import { changeMcpServers } from '../rows/mcp-servers.ts';
import { readEvents } from '../rows/events.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { apiKey, openServiceRig, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';

const SOON_MS = 150_000;

let rig: ServiceRig;
let front: RunningProcess;
let api: ServiceApi;
let counting: Awaited<ReturnType<typeof countingServer>>;

shareAmongTests(async (onEnd) => {
  counting = await countingServer();
  onEnd(() => counting.remove());
  // A port at which nothing listens.
  const port = await counting.listen();
  await counting.stop();
  // `sleep` is a child that does not end with its parent, as the server that npx starts may not.
  const { command, args, env } = counting.settings;
  const notes = {
    command: '/bin/sh',
    args: ['-c', `sleep 1000 & echo $! >> ${counting.file}.pids; exec "$@"`, 'sh', command, ...args],
    env,
    trust: 'hints',
    // The ids of processes inside a sandbox mean nothing outside.
    sandbox: 'off',
  };
  const opened = await openServiceRig({
    queue: 'postgres',
    config: { mcp: { servers: { notes, away: { url: `http://127.0.0.1:${port}/mcp` } } } },
  });
  onEnd(() => opened.close());
  rig = opened;
  front = await rig.start('api,scheduler');
  api = rig.apiOf(front);
});

/** The processes of servers that were started and still run. */
function left(): number[] {
  const pids = readFileSync(`${counting.file}.pids`, 'utf8').trim().split('\n').map(Number);
  return pids.filter((pid) => {
    try {
      process.kill(pid, 0);
      return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
    } catch {
      return false;
    }
  });
}

const run = (...args: string[]) =>
  runCli(['mcp', ...args], { env: { HOLDFAST_API_KEY: apiKey, HOLDFAST_URL: front.url } });

test('the commands show servers, tools and why a server does not answer, as events do', async () => {
  const worker = await rig.start('worker');
  const list = await run('list');
  expect(list.stdout).toMatch(/^away +lost +0 .*ECONNREFUSED/m);
  expect(list.stdout).toMatch(/^notes +connected +off: mcp\.servers\.notes\.sandbox is "off" +4 /m);
  // As on a machine without socat.
  const info = { sandbox: { isOn: true, reason: 'there is no network, because socat is not on the PATH' } };
  await changeMcpServers(rig, { name: 'notes' }, { info: { sandbox: { ...info.sandbox, isDecided: false } } });
  expect((await run('list')).stderr).toMatch(/^notes lacks something in the sandbox: .*"apt-get install socat"/m);
  const tools = await run('tools', 'notes');
  expect(tools.stdout).toContain('notes__add (runs once)\n  add a note\n');
  expect(tools.stdout).toContain('notes__put (may run twice)');
  const probe = await run('probe', 'notes');
  expect(probe.stdout).toMatch(/^notes has 4 tools \(counting 1\.0\.0, protocol \d{4}-\d\d-\d\d\)$/m);
  const lost = await run('probe', 'away');
  expect({ code: lost.code, text: lost.stderr }).toMatchObject({
    code: 1,
    text: expect.stringContaining('away cannot be reached: '),
  });
  expect((await run('probe', 'none')).code).toBe(5);
  for (const [type, server] of [
    ['mcp.connected', 'notes'],
    ['mcp.lost', 'away'],
  ] as const)
    expect(await readEvents(rig, { type }, 'data')).toEqual([{ data: expect.objectContaining({ server }) }]);
  expect(left()).toHaveLength(1);
  await worker.end('SIGTERM');
  await waitUntil('the server has ended with its worker', SOON_MS, () => left().length === 0);
});

test('a worker that is killed while servers run its calls: no call is run twice, and no process is left (G11, G24)', async () => {
  const workers = [await rig.start('worker'), await rig.start('worker')];
  const calls = ['add', 'put'].map((name) => `[[tool: notes__${name} {"fault":"wait"}]]`);
  const message = await api.send('killed', { text: `${calls.join(' & ')} [[reply: Done.]]` });
  await waitUntil('the server runs both', SOON_MS, async () => (await counting.runs()).length === 2);
  await rig.kill(await rig.holderOf('killed'));
  expect(await api.settled(message)).toMatchObject({ status: 'answered', reply: 'Done.' });
  const { statuses, faults } = await judgeCalls(rig, await counting.runs());
  expect(faults).toEqual([]);
  expect(statuses).toEqual({ unknown: 1, done: 1 });
  await Promise.all(workers.filter((worker) => worker.isAlive()).map((worker) => worker.end('SIGKILL')));
  await waitUntil('no server is left', SOON_MS, () => left().length === 0);
});
