// Servers that are processes, in the sandbox on the real kernel: what a hostile one tries to reach,
// and what an ordinary one must reach.
import { chmodSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../../src/features/mcp/open-client.ts';
import { readServiceHealth } from '../../../src/features/overview/views/service-health.ts';
import { listServers } from '../../../src/features/mcp/views.ts';
import { openSandboxRig } from '../../tools/sandbox-rig.ts';
import { describeUnless, NO_NETWORK } from '../../tools/machine-sandbox.ts';
import { takePath } from '../../tools/take-path.ts';
import { counting, rigWith } from './mcp-rig.ts';

const SHELL = join(import.meta.dirname, 'shell-server.ts');

/** A server with a shell in a service that has secrets; what its shell prints. */
async function openShell(settings: object = {}, file: object = {}, prepare?: (base: string) => void) {
  const pry = { command: process.execPath, args: [SHELL], env: { TOKEN: 'OWN-TOKEN' }, ...settings };
  const rig = await openSandboxRig({ ...file, mcp: { servers: { pry } } }, undefined, prepare);
  onTestFinished(() => rig.close());
  const server = rig.config.mcp.servers['pry'];
  if (server === undefined) throw new Error('there is no server');
  const client = await openClient(
    // Only a login needs the database.
    { config: rig.config, database: undefined as never, name: 'pry', settings: server },
    { changed: () => undefined, closed: () => undefined },
  );
  onTestFinished(() => client.close());
  const signal = new AbortController().signal;
  async function sh(command: string): Promise<string> {
    const reply = await client.call({ tool: 'sh', input: { command }, meta: {}, signal, isTask: false });
    if (reply.kind !== 'answered') throw new Error(reply.kind);
    const { content } = reply.answer.result as { content: { text?: string }[] };
    return content[0]?.text ?? '';
  }
  return { ...rig, client, sh };
}

describeUnless(NO_NETWORK, 'in the sandbox', () => {
  test('a server reaches no secret, no process and no address of the machine (G30)', async () => {
    process.env['HOLDFAST_TEST_SECRET'] = 'PLAIN-SECRET';
    onTestFinished(() => void delete process.env['HOLDFAST_TEST_SECRET']);
    const { sh, dataDir, base, port, client, workspaceDir } = await openShell();
    expect(client.info.sandbox).toEqual({ isOn: true, reason: null, isDecided: false });
    const proxy = '$http_proxy';
    const canaries = [
      'env | grep -q PLAIN-SECRET && echo WON',
      `cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -q PLAIN-SECRET && echo WON`,
      `grep -q KEY-IN-FILE ${dataDir}/api-key && echo WON`,
      `ls ${dataDir} | grep -vq '^mcp$' && echo WON`,
      `[ -e ${base}/holdfast.json ] && echo WON`,
      `ls ${workspaceDir} && echo WON; cat ${base}/other/diary && echo WON`,
      `[ -e ${dataDir}/database.sock ] && echo WON`,
      '[ -e /etc/shadow ] && echo WON; [ -e /home ] && echo WON',
      `[ -e /proc/${process.pid}/environ ] && echo WON`,
      `kill -0 ${process.pid} && echo WON`,
      '(: > /usr/bin/canary) && echo WON',
      `(echo x >> ${SHELL}) && echo WON`,
      `(exec 3<>/dev/tcp/127.0.0.1/${port}) && echo WON`,
      `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT 127.0.0.1:${port} HTTP/1.1\\r\\n\\r\\n' >&3; head -1 <&3 | grep -q ' 200 ' && echo WON`,
      `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT 169.254.169.254:80 HTTP/1.1\\r\\n\\r\\n' >&3; head -1 <&3 | grep -q ' 200 ' && echo WON`,
      `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT localhost:${port} HTTP/1.1\\r\\n\\r\\n' >&3; head -1 <&3 | grep -q ' 200 ' && echo WON`,
      'unshare -Urm true && echo WON',
      "grep -q '^CapEff:.*[1-9a-f]' /proc/self/status && echo WON",
    ];
    const said: string[] = [];
    for (const canary of canaries) said.push(await sh(canary));
    expect(canaries.filter((_, at) => said[at]?.includes('WON'))).toEqual([]);
    expect(await sh(`echo "$TOKEN ${proxy}"; exec 3<>/dev/tcp/127.0.0.1/3128 && echo reached`)).toBe(
      'OWN-TOKEN http://127.0.0.1:3128\nreached\n',
    );
  });

  test('a server has a home that stays, writes its working directory, and reads what its command line names', async () => {
    const named = await openSandboxRig();
    onTestFinished(() => named.close());
    const [shown, given] = [join(named.base, 'shown'), join(named.base, 'given')];
    for (const folder of [shown, given]) mkdirSync(folder);
    chmodSync(given, 0o777);
    writeFileSync(join(shown, 'note'), 'A-NOTE');
    const link = join(shown, 'link');
    symlinkSync(join(shown, 'note'), link);
    const settings = { args: [SHELL, shown, link], cwd: given, network: 'none' };
    const { sh, dataDir } = await openShell(settings);
    expect(await sh(`cat ${link}; (: > ${shown}/new) 2>/dev/null || echo; pwd; echo kept > made`)).toBe(
      `A-NOTE\n${given}\n`,
    );
    expect(readFileSync(join(given, 'made'), 'utf8')).toBe('kept\n');
    expect(await sh('echo kept > ~/cache; echo "$HOME $http_proxy"')).toBe(`${join(dataDir, 'mcp', 'pry')} \n`);
    expect(readFileSync(join(dataDir, 'mcp', 'pry', 'cache'), 'utf8')).toBe('kept\n');
  });

  test('a server reads a file that its command line names, also by a link, and nothing beside it (G30)', async () => {
    const named = await openSandboxRig();
    onTestFinished(() => named.close());
    const folder = join(named.base, 'secrets');
    for (const path of [folder, join(folder, 'version-1')]) mkdirSync(path);
    for (const name of ['token', 'other', 'version-1/mounted']) writeFileSync(join(folder, name), `SECRET ${name}\n`);
    symlinkSync('version-1/mounted', join(folder, 'mounted'));
    const args = [SHELL, '--token-file', join(folder, 'token'), join(folder, 'mounted')];
    // The service has the same token.
    const channels = { telegram: { accounts: { main: { tokenFile: join(folder, 'token') } } } };
    const { sh } = await openShell({ args }, { channels });
    expect(await sh(`cd ${folder} && ls && cat token mounted`)).toBe(
      'mounted\ntoken\nversion-1\nSECRET token\nSECRET version-1/mounted\n',
    );
  });

  test('a server whose working directory has the data directory in it reaches its home there and no secret (G30)', async () => {
    // The folder of the configuration.
    const { sh, base, dataDir, client } = await openShell({ cwd: '.' });
    expect(client.info.sandbox).toEqual({ isOn: true, reason: null, isDecided: false });
    const command = `pwd; cat holdfast.json 2>/dev/null; ls ${dataDir} ${dataDir}/workspace; cd && : > kept && pwd`;
    expect(await sh(command)).toBe(
      `${base}\n${dataDir}:\nmcp\nworkspace\n\n${dataDir}/workspace:\n${dataDir}/mcp/pry\n`,
    );
  });

  test('a server in a folder of a workspace starts there, and not where a link that a command made leads (G41)', async () => {
    const cwd = './data/workspace/server';
    const { sh, base, workspaceDir, client } = await openShell({ cwd }, {}, (at) =>
      mkdirSync(join(at, cwd), { recursive: true }),
    );
    expect(client.info.sandbox).toEqual({ isOn: true, reason: null, isDecided: false });
    renameSync(join(workspaceDir, 'server'), join(workspaceDir, 'moved'));
    symlinkSync(join(base, 'other'), join(workspaceDir, 'server'));
    expect(await sh(`cat ${workspaceDir}/server/diary 2>/dev/null; pwd -P`)).toBe(`${workspaceDir}/moved\n`);
    const linked = openShell({ cwd }, {}, (at) => {
      mkdirSync(join(at, 'data/workspace'), { recursive: true });
      symlinkSync('/usr/share', join(at, cwd));
    });
    await expect(linked).rejects.toThrow(/mcp\.servers\.pry\.cwd is .*\/server, which leads out of the workspace/);
  });

  test('a server without a way to the network runs inside without one, and says so (G42)', async () => {
    const folder = takePath();
    const { sh, client, port } = await openShell({}, { sandbox: { readable: [folder] } });
    const reason = 'there is no network, because socat is not on the PATH';
    expect(client.info.sandbox).toEqual({ isOn: true, reason, isDecided: false });
    const pry = `[ -e /root ] && echo outside; (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo online; echo "$http_proxy."`;
    expect(await sh(pry)).toBe('.\n');
  });

  test('the list of servers says which run in it, and why others do not', async () => {
    const { settings } = await counting();
    const rig = await rigWith({ inside: { ...settings, sandbox: 'auto' }, outside: settings });
    const listed = await listServers(rig.config, rig.database.views);
    expect(listed.map(({ error }) => error)).toEqual([null, null]);
    expect(listed.map(({ sandbox, sandboxReason, sandboxFix }) => [sandbox, sandboxReason, sandboxFix])).toEqual([
      ['on', null, null],
      ['off', 'mcp.servers.outside.sandbox is "off"', null],
    ]);
    expect((await readServiceHealth(rig.database.views)).map(({ kind }) => kind)).not.toContain('mcp_unconfined');
  });
});

test('where the sandbox is required and does not work, a server is not started, and a call says why (G37)', async () => {
  const server = await counting();
  const path = process.env['PATH'];
  process.env['PATH'] = '/nowhere';
  onTestFinished(() => void (process.env['PATH'] = path));
  const required = { settings: { tools: { exec: { sandbox: 'required' } } } };
  const refused = await rigWith({ notes: { ...server.settings, sandbox: 'auto' } }, required);
  const [listed] = await listServers(refused.config, refused.database.views);
  expect(listed).toMatchObject({ state: 'lost', toolCount: 0 });
  expect(listed?.error).toMatch(/^it is not started: the sandbox is required, and bwrap is not on the PATH\./);
  const outside = await rigWith({ notes: server.settings }, required);
  expect(await outside.call([{ tool: 'notes__add' }])).toMatchObject([{ isError: false }]);
});
