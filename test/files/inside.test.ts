// What a name of a workspace leads to, and what is refused (G41).
import { execFileSync } from 'node:child_process';
import { chown, link, lstat, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { confinedTo, type Confines } from '../../src/files/confines.ts';
import { listInside, openToAppend, removeInside, replaceInside, withFileInside } from '../../src/files/inside.ts';
import { HeldFolder, openEntry } from '../../src/files/held-folder.ts';
import { createReadTool } from '../../src/tools/file-tools.ts';
import { grepTool } from '../../src/tools/grep-tool.ts';
import { readMemoryFile } from '../../src/features/memory/memory-files.ts';
import { loadSkills } from '../../src/kernel/turn/open/load-skills.ts';
import { aToolCall } from '../tools/tool-call.ts';
import { createWorkspace, type Workspace } from '../tools/workspace.ts';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

let workspace: Workspace;
let inside: Confines;

beforeEach(async () => {
  workspace = await createWorkspace();
  inside = confinedTo(workspace.dir);
});
afterEach(() => workspace.remove());

const read = (name: string, confines = inside): Promise<string> =>
  withFileInside(name, confines, ({ file }) => file.readFile('utf8'));

describe('a name', () => {
  test('may lead through links to a place inside, and to further folders', async () => {
    await mkdir(join(workspace.dir, 'real'));
    await writeFile(join(workspace.dir, 'real/a.txt'), 'text');
    await symlink('real', join(workspace.dir, 'folder'));
    await symlink('folder/a.txt', join(workspace.dir, 'file'));
    expect(await read('file')).toBe('text');
    expect((await listInside('folder', inside)).map(({ name }) => name)).toEqual(['a.txt']);
    const wider = confinedTo(workspace.dir, [workspace.outsideDir]);
    expect(await read('../outside/secret.txt', wider)).toBe('the secret');
  });

  test.each(['../outside/secret.txt', 'out/secret.txt', 'none/../../outside/secret.txt', '/etc/passwd', 'a\0b'])(
    'does not lead outside: %j',
    async (name) => {
      await symlink(workspace.outsideDir, join(workspace.dir, 'out'));
      const refused = { code: 'path_refused' };
      await expect(read(name)).rejects.toMatchObject(refused);
      await expect(replaceInside(name, inside, 'x')).rejects.toMatchObject(refused);
      await expect(openToAppend(name, inside)).rejects.toMatchObject(refused);
      await expect(removeInside(name, inside)).rejects.toMatchObject(refused);
      expect(await readFile(join(workspace.outsideDir, 'secret.txt'), 'utf8')).toBe('the secret');
    },
  );

  test('does not tell whether something is outside', async () => {
    await symlink(workspace.outsideDir, join(workspace.dir, 'out'));
    const ends = ['out/secret.txt', 'out/none.txt', 'out/none/none.txt'].map((name) => read(name));
    for (const end of ends) await expect(end).rejects.toMatchObject({ code: 'path_refused', fault: 'outside' });
  });

  test('is what an error shows, and not the place that was used', async () => {
    await writeFile(join(workspace.dir, 'a'), '');
    await expect(replaceInside('a/b', inside, '')).rejects.toThrow(/^ENOTDIR: not a directory, \w+ '[^']*\/a'$/);
    await expect(read('none/b')).rejects.toThrow(/^ENOENT/);
  });
});

describe('a pipe', () => {
  test('in the place of a file holds up no thread, however many wait for it (G28)', async () => {
    const pipes = ['pipe', 'MEMORY.md', 'skills/one/SKILL.md'].map((name) => join(workspace.dir, name));
    await mkdir(join(workspace.dir, 'skills/one'), { recursive: true });
    execFileSync('mkfifo', pipes);
    const call = aToolCall({ workspaceDir: workspace.dir });
    const uses = Array.from({ length: 8 }, () => [
      createReadTool([]).run({ file_path: 'pipe' }, call),
      expect(grepTool.run({ pattern: 'x', path: 'pipe' }, call)).resolves.toMatchObject({
        content: 'grep: pipe is not a regular file',
      }),
      readMemoryFile(workspace.dir, 'MEMORY.md'),
      loadSkills(workspace.dir),
      expect(replaceInside('pipe', inside, 'x')).rejects.toThrow('pipe is not a regular file'),
      expect(openToAppend('pipe', inside)).rejects.toThrow('pipe is not a regular file'),
    ]);
    await Promise.all(uses.flat());
    // A file call needs a thread.
    expect((await lstat(pipes[0]!)).isFIFO()).toBe(true);
  });
});

describe.runIf(isRoot)('where the service is root', () => {
  beforeEach(() => chown(workspace.dir, NOBODY, NOBODY));

  test('a second name of a file of another user is refused, and one of the own user is not', async () => {
    await link(join(workspace.outsideDir, 'secret.txt'), join(workspace.dir, 'hard'));
    await expect(read('hard')).rejects.toThrow('hard is a second name of a file of another user');
    await expect(openToAppend('hard', inside)).rejects.toThrow('hard is a second name of a file of another user');
    await chown(join(workspace.outsideDir, 'secret.txt'), NOBODY, NOBODY);
    expect(await read('hard')).toBe('the secret');
  });

  test('what is new belongs to the owner of the workspace, with its folders', async () => {
    await replaceInside('a/b/c.txt', inside, 'x');
    await (await openToAppend('notes/d.md', inside)).close();
    for (const name of ['a', 'a/b', 'a/b/c.txt', 'notes', 'notes/d.md'])
      expect((await stat(join(workspace.dir, name))).uid, name).toBe(NOBODY);
    expect((await stat(join(workspace.dir, 'a'))).mode & 0o777).toBe(0o700);
  });
});

test('a folder whose path has become a link is not held, and an entry that has become one is not opened (G41)', async () => {
  await symlink(workspace.outsideDir, join(workspace.dir, 'folder'));
  await symlink(join(workspace.outsideDir, 'secret.txt'), join(workspace.dir, 'file'));
  const changed = { code: 'path_refused', fault: 'changed' };
  const held = await HeldFolder.open(join(workspace.dir, 'folder')).catch((error: unknown) => error);
  expect(held).toMatchObject(changed);
  const folder = await HeldFolder.open(workspace.dir);
  const opened = openEntry(folder, 'file', { root: workspace.dir, name: 'file' });
  await expect(opened.finally(() => folder.close())).rejects.toMatchObject(changed);
});

test('a file that is replaced keeps its mode, and a second name of it keeps the old content', async () => {
  const path = join(workspace.dir, 'run.sh');
  await writeFile(path, 'old', { mode: 0o755 });
  await link(path, join(workspace.dir, 'other'));
  await replaceInside('run.sh', inside, 'new');
  expect((await stat(path)).mode & 0o777).toBe(0o755);
  expect(await readFile(join(workspace.dir, 'other'), 'utf8')).toBe('old');
  expect((await listInside('.', inside)).map(({ name }) => name).toSorted()).toEqual(['other', 'run.sh']);
});

test.runIf(process.platform === 'linux')('a folder whose path is too long to be known is closed (G41)', async () => {
  const long = Array.from({ length: 12 }, () => 'x'.repeat(250)).join('/');
  const deep = join(workspace.dir, 'deep');
  await mkdir(join(workspace.dir, long), { recursive: true });
  await symlink(long, deep);
  await mkdir(join(deep, long), { recursive: true });
  const countOpen = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
  const before = await countOpen();
  const ends = await Promise.allSettled(
    Array.from({ length: 20 }, () => HeldFolder.open(workspace.dir, join(deep, long))),
  );
  const after = await countOpen();
  // So that the workspace can be deleted.
  await rename(join(deep, 'x'.repeat(250)), join(workspace.dir, 'rest'));
  for (const end of ends) expect(end).toMatchObject({ reason: { code: 'ENAMETOOLONG' } });
  expect(after).toBeLessThan(before + 20);
});
