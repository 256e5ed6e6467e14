// On a machine with an older Node the script hands over to the Node that npm installed into the
// checkout.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { BIN } from './run-cli.ts';

/** A Node of this machine that cannot run TypeScript, if there is one. */
const olderNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find((node) => {
    const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout;
    const [major = 99, minor = 0] = (version ?? '').trim().slice(1).split('.').map(Number);
    return version && (major < 22 || (major === 22 && minor < 18));
  });

describe.skipIf(olderNode === undefined)('with an older Node', () => {
  const node = olderNode ?? '';
  let bare: string;

  beforeAll(async () => {
    bare = await mkdtemp(join(tmpdir(), 'holdfast-bare-'));
    await mkdir(join(bare, 'src/cli'), { recursive: true });
    await cp(BIN, join(bare, 'src/cli/bin.mjs'));
    // The contents of a checkout.
    await writeFile(join(bare, 'src/cli/main.ts'), '');
  });
  afterAll(() => rm(bare, { recursive: true }));

  test('a command runs on the Node of the checkout, with its output and its exit code', () => {
    const version = spawnSync(node, [BIN, 'version', '--json'], { encoding: 'utf8' });
    expect(JSON.parse(version.stdout)).toMatchObject({ node: process.versions.node });
    expect(spawnSync(node, [BIN, 'no-such-command']).status).toBe(2);
  });

  test('without a suitable Node it names the required version', () => {
    const result = spawnSync(node, [join(bare, 'src/cli/bin.mjs'), 'version'], { encoding: 'utf8' });
    expect(result.status).toBe(1);
    expect(result.stderr).toMatch(/Node 22\.18 or newer is needed, this is .*\nFix: run "npm ci"/);
  });

  test('who kills the one kills the other', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const child = spawn(node, [BIN, 'events', '--url', `http://127.0.0.1:${port}`], { stdio: 'ignore' });
    onTestFinished(() => void child.kill());
    // The inner process has connected; when it exits, its connection ends.
    const [connection] = (await once(server, 'connection')) as [import('node:net').Socket];
    connection.on('error', () => undefined).resume();
    child.kill('SIGKILL');
    await once(connection, 'close');
  });

  test('signals and the flags of Node are passed on', async () => {
    const child = spawn(node, ['--max-semi-space-size=8', BIN, 'scripted-model'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void child.kill());
    await once(child.stdout, 'data');
    const inner = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
    const flags = (await readFile(`/proc/${inner.trim()}/cmdline`, 'utf8')).split('\0');
    expect(flags.slice(1, 3)).toEqual(['--max-semi-space-size=8', '--disable-sigusr1']);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
