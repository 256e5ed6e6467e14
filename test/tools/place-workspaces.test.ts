// Only root can give the commands of agents to another user, so only root has workspaces to place;
// CI runs as root.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, link, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { ensureSecretFile } from '../../src/config/secrets.ts';
import { workspacesFolderOf } from '../../src/config/places.ts';
import { openDataDir, openWorkspaces, placeWorkspaces } from '../../src/tools/open-workspace.ts';

const OTHER_FILE_SYSTEM = '/dev/shm';

/** A folder that only root may enter. */
async function openFolder(parent = tmpdir()) {
  const cwd = await mkdtemp(join(parent, 'holdfast-place-'));
  const dataDir = join(cwd, '.holdfast');
  onTestFinished(async () => {
    for (const path of [workspacesFolderOf(dataDir), cwd]) await rm(path, { recursive: true, force: true });
  });
  return { cwd, dataDir, load: () => loadConfig({ env: {}, cwd }) };
}

describe.runIf(process.getuid?.() === 0)('workspaces of a new data directory that their user cannot enter', () => {
  test('have one place, also for processes that start at the same time', async () => {
    const { dataDir, load } = await openFolder();
    const config = load();
    expect(await Promise.all(Array.from({ length: 5 }, () => placeWorkspaces(config)))).toEqual(Array(5).fill(true));
    const { path } = load().workspace;
    expect(path).toBe(join(workspacesFolderOf(dataDir), 'workspace'));
    expect(await placeWorkspaces(load())).toBe(false);
    expect(load().workspace.path).toBe(path);
  });

  test('stay in the data directory when an agent has a workspace there', async () => {
    const { dataDir, load } = await openFolder();
    await mkdir(join(dataDir, 'workspace-clerk'), { recursive: true });
    expect(await placeWorkspaces(load())).toBe(false);
    expect(await readdir(dataDir)).toEqual(['workspace-clerk']);
  });

  test('need none when every agent has its own workspace', async () => {
    const { dataDir, cwd } = await openFolder();
    await writeFile(join(cwd, 'holdfast.json'), '{agents: {list: [{id: "main", workspace: "./agents/main"}]}}');
    expect(await placeWorkspaces(loadConfig({ env: {}, cwd }))).toBe(false);
    expect(existsSync(dataDir)).toBe(false);
  });

  test.runIf(existsSync(OTHER_FILE_SYSTEM))(
    'stay in a data directory on another file system, which can outlive the place outside',
    async () => {
      const { dataDir, load } = await openFolder(OTHER_FILE_SYSTEM);
      expect(await placeWorkspaces(load())).toBe(false);
      expect(await readdir(dataDir)).toEqual([]);
    },
  );
});

describe.runIf(process.getuid?.() === 0)('a data directory with workspaces', () => {
  test('is never closed to the user of commands while another process starts', async () => {
    const { cwd, dataDir, load } = await openFolder();
    await chmod(cwd, 0o755);
    const workspace = join(dataDir, 'workspace');
    await mkdir(workspace, { recursive: true });
    const config = load();
    await openDataDir(config);
    await openWorkspaces(config);
    const look = 'do { print "closed\\n" unless -d $ARGV[0] } while getppid() > 1';
    const looking = spawn('perl', ['-e', `$| = 1; print "begun\\n"; ${look}`, workspace], { uid: 65_534, gid: 65_534 });
    onTestFinished(() => void looking.kill('SIGKILL'));
    const said: string[] = [];
    looking.stdout.on('data', (chunk: Buffer) => said.push(...chunk.toString().trim().split('\n')));
    await once(looking.stdout, 'data');
    for (let n = 0; n < 300; n += 1) {
      await openDataDir(config);
      await rm(join(dataDir, 'api-key'), { force: true });
      await ensureSecretFile(dataDir, 'api-key', () => 'secret');
    }
    looking.kill();
    await once(looking, 'exit');
    expect(new Set(said)).toEqual(new Set(['begun']));
  });
});

describe.runIf(process.getuid?.() === 0)('opening workspaces gives their user', () => {
  test('no second name of a file, and nothing that a link leads to', async () => {
    const { cwd } = await openFolder();
    const [outside, workspace] = [join(cwd, 'outside'), join(cwd, '.holdfast/workspace')];
    await mkdir(outside);
    await mkdir(workspace, { recursive: true });
    for (const name of ['linked', 'named']) await writeFile(join(outside, name), '');
    await writeFile(join(workspace, 'own'), '');
    await symlink(outside, join(workspace, 'folder'));
    await link(join(outside, 'named'), join(workspace, 'named'));
    await writeFile(join(cwd, 'holdfast.json'), '{tools: {exec: {user: "nobody"}}}');
    await openWorkspaces(loadConfig({ env: {}, cwd }));
    expect((await stat(join(workspace, 'own'))).uid).toBe(65_534);
    for (const path of [outside, join(outside, 'linked'), join(outside, 'named')])
      expect((await stat(path)).uid, path).toBe(0);
  });

  test('no workspace within another one that has become a link out of it', async () => {
    const { cwd } = await openFolder();
    await mkdir(join(cwd, 'agents/main'), { recursive: true });
    await mkdir(join(cwd, 'elsewhere'));
    await symlink(join(cwd, 'elsewhere'), join(cwd, 'agents/main/other'));
    const list = [
      { id: 'main', workspace: './agents/main' },
      { id: 'other', workspace: './agents/main/other' },
    ];
    await writeFile(join(cwd, 'holdfast.json'), JSON.stringify({ agents: { list } }));
    await expect(openWorkspaces(loadConfig({ env: {}, cwd }))).rejects.toThrow(
      /agents\/main\/other, which leads to .*\/elsewhere; allowed: a folder that stays in the workspace/,
    );
  });
});
