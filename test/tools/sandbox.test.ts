// Commands in a sandbox on the real kernel, through the exec tool: what works as outside, and when
// there is none (G37). What they cannot do is in `sandbox-canaries.test.ts`.
import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { createServer as createSocketServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeCommands } from '../../src/tools/command-user.ts';
import { Sandbox } from '../../src/tools/sandbox/sandbox.ts';
import { describeUnless, NO_SANDBOX, readCommandLines, RUNTIMES, testUnless } from './machine-sandbox.ts';
import { openSandboxRig } from './sandbox-rig.ts';

describe.each(RUNTIMES)('$name', ({ name, fault, networkFault, settings }) => {
  describeUnless(fault, 'a command in its sandbox', () => {
    test('works as outside: its workspace, its output, its exit code, its signals, what it leaves running (G24)', async () => {
      const rig = await openSandboxRig({ sandbox: settings });
      expect(await rig.sandbox.check()).toMatchObject({ status: 'on', reason: null });
      writeFileSync(join(rig.workspaceDir, 'given'), 'text\n');
      expect(await rig.run('cat given; pwd; echo $HOME; echo err >&2; exit 3')).toBe(
        `text\n${rig.workspaceDir}\n${rig.workspaceDir}\nerr\n[exit code 3]`,
      );
      expect(await rig.run('mkdir -p sub && echo kept > sub/made; cat /tmp/*')).toContain('[exit code 1]');
      expect(readFileSync(join(rig.workspaceDir, 'sub/made'), 'utf8')).toBe('kept\n');
      expect(await rig.run('kill -SEGV $$')).toBe('[ended by SIGSEGV]');
      // The client of an engine does not say what its container has left.
      const left = name === 'container' ? '' : '[processes left in the background were ended]\n';
      expect(await rig.run('sleep 300 > /dev/null & echo done')).toBe(`done\n${left}[exit code 0]`);
      const stop = new AbortController();
      const running = rig.run(`trap 'echo clean > result; exit' TERM; touch begun; sleep 300 & wait`, {
        signal: stop.signal,
      });
      const stopped = expect(running).rejects.toThrow('stop');
      await expect.poll(() => existsSync(join(rig.workspaceDir, 'begun'))).toBe(true);
      stop.abort(new Error('stop'));
      await stopped;
      expect(readFileSync(join(rig.workspaceDir, 'result'), 'utf8')).toBe('clean\n');
      await rig.close();
    });

    test('ends when it is killed (G24)', async () => {
      const rig = await openSandboxRig({ sandbox: settings });
      const stop = new AbortController();
      const running = rig.run(`trap '' TERM; touch begun; while :; do sleep 4322.5; done`, { signal: stop.signal });
      const stopped = expect(running).rejects.toThrow('stop');
      await expect.poll(() => existsSync(join(rig.workspaceDir, 'begun'))).toBe(true);
      stop.abort(new Error('stop'));
      await stopped;
      const isLeft = () => readCommandLines().some((line) => line.includes('4322.5'));
      await expect.poll(isLeft).toBe(false);
      await rig.close();
    });
  });

  testUnless(
    networkFault,
    'its sandbox with a network lets a command reach the hosts of the list, by the proxy and in no other way',
    async () => {
      const server = createServer((_request, response) => response.end('reached'));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const rig = await openSandboxRig({ sandbox: { ...settings, network: [`127.0.0.1:${port}`, '*'] } });
      const get = 'curl -sS -m 5';
      const output = await rig.run(
        [
          `${get} http://127.0.0.1:${port}/; echo`,
          `${get} --proxytunnel http://127.0.0.1:${port}/; echo`,
          `${get} http://127.0.0.1:${rig.port}/`,
          `${get} http://169.254.169.254/`,
          `${get} http://localhost:${port}/`,
          `${get} --noproxy '*' http://127.0.0.1:${port}/ || echo no other way`,
        ].join('\n'),
      );
      await rig.close();
      server.close();
      expect(output.split('\n').slice(0, 5)).toEqual([
        'reached',
        'reached',
        '127.0.0.1 is not on the public internet',
        '169.254.169.254 is not on the public internet',
        'localhost is not on the public internet',
      ]);
      expect(output).toContain('no other way');
    },
  );
});

describeUnless(NO_SANDBOX, 'behind a symbolic link', () => {
  const WAYS = [
    { what: 'the workspace', workspace: './by/link/workspace' },
    { what: 'the data directory', workspace: undefined },
  ];
  test.each(WAYS)('$what is in the sandbox by its real path, and by the path that is written (G30)', async (way) => {
    const settings = {
      ...(way.workspace === undefined ? {} : { workspace: { path: way.workspace } }),
      sandbox: { readable: ['./tools', './tools/more', './by/link/other'] },
      tools: { exec: { sandbox: 'required' } },
    };
    const rig = await openSandboxRig(settings, undefined, (base) => {
      for (const folder of ['real/data', 'real/place/workspace', 'real/place/other', 'real/tools/more', 'by'])
        mkdirSync(join(base, folder), { recursive: true });
      symlinkSync('real/data', join(base, 'data'));
      symlinkSync(join(base, 'real/place'), join(base, 'by/link'));
      symlinkSync('real/tools', join(base, 'tools'));
      writeFileSync(join(base, 'real/tools/note'), 'A-NOTE\n');
    });
    onTestFinished(() => rig.close());
    expect(await rig.sandbox.check()).toMatchObject({ status: 'on', reason: null });
    const real = realpathSync(rig.workspaceDir);
    expect(real).not.toBe(rig.workspaceDir);
    expect(await rig.run('pwd; echo $HOME; mkdir sub; echo kept > sub/made')).toBe(`${real}\n${real}\n[exit code 0]`);
    expect(await rig.run('cat made; pwd', { workdir: 'sub' })).toBe(`kept\n${real}/sub\n[exit code 0]`);
    expect(await rig.run(`cat ${rig.workspaceDir}/sub/made ${rig.base}/tools/note ${rig.base}/real/tools/note`)).toBe(
      'kept\nA-NOTE\nA-NOTE\n[exit code 0]',
    );
    const keys = `cat ${rig.dataDir}/api-key ${realpathSync(rig.dataDir)}/api-key 2>/dev/null`;
    expect(await rig.run(keys, { isOutside: true })).toContain('KEY-IN-FILE');
    expect(await rig.run(keys)).toBe('[exit code 1]');
  });
});

testUnless(
  NO_SANDBOX,
  'a secret below a folder of the system is hidden by all of its names, and sockets in folders that commands can read (G30)',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-sockets-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    chmodSync(folder, 0o755);
    const server = createSocketServer((socket) => socket.destroy()).listen(join(folder, 'socket'));
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    chmodSync(join(folder, 'socket'), 0o777);
    // A file that every user can read, and that the folders of the system have under several names.
    process.env['OPENAI_API_KEY_FILE'] = '/usr/lib/os-release';
    onTestFinished(() => void delete process.env['OPENAI_API_KEY_FILE']);
    const rig = await openSandboxRig({ sandbox: { readable: [folder] } });
    onTestFinished(() => rig.close());
    const command = [
      'cat /usr/lib/os-release /lib/os-release /etc/os-release 2>/dev/null | grep -c ^NAME',
      `perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new("${folder}/socket") ? "reached" : "not reached"'`,
    ].join('\n');
    expect(await rig.run(command, { isOutside: true })).toBe('3\nreached\n[exit code 0]');
    expect(await rig.run(command)).toBe('0\nnot reached\n[exit code 0]');
  },
);

testUnless(NO_SANDBOX, 'a server in a sandbox has the variables of its configuration and no others', async () => {
  const rig = await openSandboxRig();
  const wrap = await rig.sandbox.enter(rig.plan);
  const server = { argv: ['server'], workdir: rig.workspaceDir, user: null, environment: { KEY: 'k' } };
  const { environment } = wrap?.({ ...server, own: { TOKEN: 't' } }) ?? {};
  expect(environment).toEqual({ HOME: rig.workspaceDir, TOKEN: 't' });
  await rig.close();
});

testUnless(
  NO_SANDBOX,
  'files with secrets of the service are hidden in a folder that commands can read (G30)',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-keys-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    chmodSync(folder, 0o755);
    for (const name of ['public', 'provider', 'bot', 'variable']) writeFileSync(join(folder, name), `IN ${name}\n`);
    process.env['OPENAI_API_KEY_FILE'] = join(folder, 'variable');
    onTestFinished(() => void delete process.env['OPENAI_API_KEY_FILE']);
    const rig = await openSandboxRig({
      // `.` is where the configuration is.
      sandbox: { readable: ['.', folder] },
      models: { providers: { anthropic: { keys: [{ name: 'one', file: join(folder, 'provider') }] } } },
      channels: { telegram: { accounts: { main: { tokenFile: join(folder, 'bot') } } } },
    });
    onTestFinished(() => rig.close());
    writeFileSync(join(rig.base, 'holdfast.json.previous'), 'IN previous\n');
    const command = `cat ${folder}/* ${rig.base}/holdfast.json ${rig.base}/holdfast.json.previous 2>/dev/null`;
    expect(await rig.run(command, { isOutside: true })).toMatch(
      /^IN bot\nIN provider\nIN public\nIN variable\n\{.*\}IN previous\n/,
    );
    expect(await rig.run(command)).toBe('IN public\n[exit code 1]');
    if (rig.user !== null) expect(describeCommands(rig.config)).toContain(`can read ${folder}/variable`);
  },
);

describe('a sandbox that does not work', () => {
  test('keeps every command from running where it is required, and says why (G37)', async () => {
    const rig = await openSandboxRig({ tools: { exec: { sandbox: 'required' } } });
    const path = process.env['PATH'];
    process.env['PATH'] = '/nowhere';
    const hidden = new Sandbox(rig.config);
    process.env['PATH'] = path;
    await expect(hidden.enter(rig.plan)).rejects.toThrow(
      'commands are off: the sandbox is required, and bwrap is not on the PATH. The operator can run "holdfast sandbox check"',
    );
    expect(await hidden.check()).toMatchObject({ status: 'refused', reason: 'bwrap is not on the PATH' });
    await rig.close();
  });

  testUnless(
    NO_SANDBOX,
    'because user namespaces are refused says so, and `holdfast sandbox check` ends with 1 (G37)',
    async () => {
      const rig = await openSandboxRig({ tools: { exec: { sandbox: 'required' } } });
      // Inside, no further namespace can be made, by whichever user.
      const inner = '--dev-bind / / --unshare-user --uid 65534 --gid 65534 --disable-userns --'.split(' ');
      const check = [
        process.execPath,
        join(import.meta.dirname, '../../src/cli/bin.mjs'),
        'sandbox',
        'check',
        '--json',
      ];
      const env = { PATH: process.env['PATH'], HOLDFAST_DATA_DIR: rig.dataDir };
      const ended = promisify(execFile)('bwrap', [...inner, ...check], { cwd: rig.base, env }).catch(
        (error: unknown) => error,
      );
      const { code, stdout } = (await ended) as { code: number; stdout: string };
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({
        mode: 'required',
        status: 'refused',
        reason: expect.stringMatching(/^bwrap: .*namespace/),
      });
      await rig.close();
    },
  );

  test('is not used in the mode "auto"', async () => {
    const rig = await openSandboxRig({ sandbox: { runtime: 'container', image: 'none' } });
    expect(await rig.sandbox.check()).toMatchObject({ mode: 'auto', status: 'off', reason: expect.any(String) });
    expect(await rig.run('echo ran')).toBe('ran\n[exit code 0]');
    await rig.close();
  });
});
