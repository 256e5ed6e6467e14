// MCP servers as tools: what agents are shown, what the ledger makes of calls, and what is left of
// a server that ends. Real servers of both lines of the protocol's library, as processes and over
// HTTP.
import { expect, test } from 'vitest';
import { listServers, listTools } from '../../../src/features/mcp/views.ts';
import { anEverythingServer, counting, EVERYTHING, MODERN, rigWith, useDatabase } from './mcp-rig.ts';

test('a call that hangs ends at its deadline and is cancelled at the server (G25)', async () => {
  const server = await counting();
  const rig = await rigWith({ notes: { ...server.settings, timeoutSeconds: 1, trust: 'hints' } });
  const [added, put] = await rig.call([
    { tool: 'notes__add', input: { fault: 'hang' } },
    { tool: 'notes__put', input: { fault: 'hang' } },
  ]);
  expect(added).toMatchObject({ status: 'unknown', isError: true });
  expect(put).toMatchObject({ status: 'failed', isError: true });
  expect(put?.text).toBe('notes__put: notes has not answered within 1 s. Call it again later.');
  await expect.poll(() => server.runs(), { timeout: 120_000 }).toContain(`${added?.key} cancelled`);
});

test('a server that is away changes nothing that agents are shown, and a call to it says so', async () => {
  const server = await counting();
  const url = await useDatabase();
  const before = await rigWith({ notes: server.settings }, { url });
  await before.send('main', 'Hello');
  await before.runs.run('main');
  const after = await rigWith({ notes: { command: '/nothing/here' } }, { url });
  const [result] = await after.call([{ tool: 'notes__add' }], 'other');
  expect(result).toMatchObject({ isError: true, status: 'failed' });
  expect(result?.text).toMatch(
    /^notes__add: the MCP server notes cannot be reached, so nothing was done: .*nothing\/here/,
  );
  expect(after.toolsShown()).toEqual(before.toolsShown());
  expect(before.toolsShown().map(({ name }) => name)).toEqual([
    'notes__add',
    'notes__env',
    'notes__peek',
    'notes__put',
  ]);
});

test('a changed tool is there at the next turn, and its change is shown', async () => {
  const server = await counting();
  const url = await useDatabase();
  const before = await rigWith({ notes: server.settings }, { url });
  await before.call([{ tool: 'notes__add' }]);
  expect((await listTools(before.config, before.database.views, 'notes'))?.[0]).toMatchObject({ change: null });
  const { env } = server.settings;
  const after = await rigWith({ notes: { ...server.settings, env: { ...env, DESCRIPTION: 'a remark' } } }, { url });
  const change = async () => (await listTools(after.config, after.database.views, 'notes'))?.[0]?.change;
  await expect.poll(change, { timeout: 120_000 }).toEqual(['- add a note', '+ add a remark']);
  await before.call([{ tool: 'notes__add' }]);
  expect(before.toolsShown()[0]?.description).toBe('add a remark');
});

test('a server that ends at a question of the newer protocol is asked in the earlier one', async () => {
  const { settings } = await counting();
  const { command, args } = settings;
  // The filter ends at the first message unless that is the one of the earlier protocol.
  const filter =
    'read -r line; case "$line" in *initialize*) ;; *) exit 1 ;; esac; (echo "$line"; exec cat) | exec "$@"';
  const rig = await rigWith({ old: { ...settings, command: '/bin/sh', args: ['-c', filter, 'sh', command, ...args] } });
  expect(await rig.call([{ tool: 'old__add' }])).toMatchObject([{ status: 'done' }]);
});

test('a process of a server sees the configured environment and what every program needs, nothing else', async () => {
  const server = await counting();
  const rig = await rigWith({ notes: server.settings });
  const [result] = await rig.call([{ tool: 'notes__env' }]);
  const seen = JSON.parse(/\{.*\}/.exec(result?.text ?? '')?.[0] ?? '{}') as object;
  const safe = ['COUNT_FILE', 'HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];
  // The shell that starts it adds its own.
  expect(Object.keys(seen).filter((name) => !safe.includes(name) && name !== 'PWD')).toEqual([]);
});

test('above toolsMax, two tools stand in for the list, and policies and the ledger see the tool that is called', async () => {
  const server = await counting();
  const settings = { tools: { deny: ['notes__add'] } };
  const notes = { ...server.settings, trust: 'hints' };
  const rig = await rigWith({ notes }, { toolsMax: 2, settings });
  const [found] = await rig.call([{ tool: 'mcp_find', input: { query: 'put a note' } }]);
  expect(found?.text).toContain('notes__put: put a note\ninput: {"type":"object"');
  expect(found?.text).not.toContain('notes__add');
  const call = (name: string, fault = 'none') => ({ tool: 'mcp_call', input: { name, input: { fault } } });
  const [put, add] = await rig.call([call('notes__put', 'die'), call('notes__add')]);
  expect(put).toMatchObject({ status: 'done', isError: false });
  expect(add?.text).toMatch(/^mcp_call: name: there is no tool "notes__add"/);
  expect(await server.runs()).toEqual([put?.key]);
  expect(rig.toolsShown().map(({ name }) => name)).toEqual(['mcp_call', 'mcp_find']);
});

/**
 * Each line of the protocol's library, as a process and over HTTP: what its server has, and which
 * protocol is spoken.
 */
const LINES = [
  { line: 'earlier', over: 'stdio', protocol: '2025-11-25', script: EVERYTHING },
  { line: 'earlier', over: 'http', protocol: '2025-11-25', script: EVERYTHING },
  { line: 'newer', over: 'stdio', protocol: '2026-07-28', script: MODERN },
  { line: 'newer', over: 'http', protocol: '2026-07-28', script: MODERN },
];

test.each(LINES)(
  'the everything server of the $line line over $over answers with text, images, resources and objects',
  async ({ over, protocol, script }) => {
    const { settings, url } = await anEverythingServer(script, over);
    const rig = await rigWith({ all: { ...(url === undefined ? settings : { url }), trust: 'hints' } });
    const results = await rig.call([
      { tool: 'all__echo', input: { message: 'hi' } },
      { tool: 'all__get-tiny-image' },
      { tool: 'all__get-resource-reference' },
      { tool: 'all__get-structured-content', input: { location: 'New York' } },
      { tool: 'all__get-sum', input: { a: 'no number' } },
    ]);
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false, false, true]);
    expect(results[0]?.text).toContain('Echo: hi');
    expect(results[1]?.text).toContain('"media_type":"image/png"');
    expect(results[2]?.text).toContain('[resource demo://');
    expect(results[3]?.text).toContain('"temperature":');
    expect(await listServers(rig.config, rig.database.views)).toMatchObject([{ state: 'connected', protocol }]);
    const tools = (await listTools(rig.config, rig.database.views, 'all')) ?? [];
    const kindOf = (name: string) => tools.find((tool) => tool.name === name);
    expect(kindOf('echo')).toMatchObject({ isReadOnly: true, isIdempotent: true, leftOut: null });
  },
);

test('a server over HTTP whose connection is cut, and that starts again, runs each call once (G11)', async () => {
  const server = await counting();
  const port = await server.listen();
  const notes = { url: `http://127.0.0.1:${port}/mcp`, trust: 'hints' };
  const rig = await rigWith({ notes });
  const [added] = await rig.call([{ tool: 'notes__add', input: { fault: 'cut' } }]);
  expect(added).toMatchObject({ isError: true, status: 'unknown' });
  const [put] = await rig.call([{ tool: 'notes__put', input: { fault: 'cut' } }]);
  expect(put).toMatchObject({ isError: false, status: 'done' });
  await server.stop();
  await server.listen(port);
  const [late] = await rig.call([{ tool: 'notes__add' }]);
  expect(late).toMatchObject({ isError: false, status: 'done' });
  expect(await server.runs()).toEqual([added?.key, put?.key, late?.key]);
});

test('servers of the newer protocol are asked in its own way, and a new tool is there at the next turn', async () => {
  const [own, far] = [await counting({}, MODERN), await counting({}, MODERN)];
  const servers = { own: own.settings, far: { url: `http://127.0.0.1:${await far.listen()}/mcp` } };
  const rig = await rigWith(servers);
  const results = await rig.call([{ tool: 'own__ask' }, { tool: 'far__ask' }]);
  expect(results.map(({ status }) => status)).toEqual(['done', 'done']);
  expect([await own.runs(), await far.runs()]).toEqual(results.map(({ key }) => [key]));
  const seen = await listServers(rig.config, rig.database.views);
  expect(seen.map(({ name, protocol }) => [name, protocol])).toEqual([
    ['far', '2026-07-28'],
    ['own', '2026-07-28'],
  ]);

  await rig.call([{ tool: 'own__grow' }]);
  await expect
    .poll(() => rig.round().then(() => listTools(rig.config, rig.database.views, 'own')), { timeout: 120_000 })
    .toContainEqual(expect.objectContaining({ name: 'grown' }));
  await rig.call([{ tool: 'own__grown' }]);
  expect(rig.toolsShown().map(({ name }) => name)).toContain('own__grown');

  const [died] = await rig.call([{ tool: 'own__ask', input: { fault: 'die' } }]);
  expect(died).toMatchObject({ status: 'unknown' });
});
