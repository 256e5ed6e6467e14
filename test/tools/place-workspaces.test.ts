// Only root can give the commands of agents to another user, so only root has workspaces to place; CI runs as root.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { workspacesFolderOf } from '../../src/config/workspaces-folder.ts';
import { placeWorkspaces } from '../../src/tools/open-workspace.ts';

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
