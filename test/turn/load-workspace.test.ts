// Reading the workspace: files inside and outside, and when files are read again.
import { mkdtemp, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createWorkspaceCache, loadWorkspaceFiles } from '../../src/kernel/turn/open/load-workspace.ts';
import { WorkspaceFileError } from '../../src/kernel/turn/open/read-inside.ts';

let dir: string;
let workspace: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-workspace-'));
  workspace = join(dir, 'workspace');
  await mkdir(workspace);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function contentsOf(names: string[], limits = {}, cache = createWorkspaceCache()): Promise<(string | null)[]> {
  const files = await loadWorkspaceFiles(workspace, names, limits, cache);
  return files.map(({ content }) => content);
}

describe('loadWorkspaceFiles', () => {
  test('files are in the order of their names, with their paths; a missing one is null', async () => {
    await writeFile(join(workspace, 'AGENTS.md'), '\ufeffbe good\n');
    expect(await loadWorkspaceFiles(workspace, ['SOUL.md', 'AGENTS.md'], {}, createWorkspaceCache())).toEqual([
      { name: 'SOUL.md', path: join(workspace, 'SOUL.md'), content: null },
      { name: 'AGENTS.md', path: join(workspace, 'AGENTS.md'), content: 'be good\n' },
    ]);
  });

  test('a workspace that does not exist has no files', async () => {
    await rm(workspace, { recursive: true });
    expect(await contentsOf(['AGENTS.md'])).toEqual([null]);
  });

  test('links are followed inside the workspace and nowhere else (G30)', async () => {
    await writeFile(join(dir, 'secret'), 'secret');
    await mkdir(join(dir, 'workspace-2'));
    await writeFile(join(dir, 'workspace-2', 'file'), 'of a neighbour');
    await writeFile(join(workspace, 'real'), 'inside');
    await symlink('real', join(workspace, 'in'));
    await symlink('../secret', join(workspace, 'out'));
    await symlink('../workspace-2', join(workspace, 'folder'));
    await symlink('loop', join(workspace, 'loop'));
    const names = ['in', 'out', 'folder/file', '../secret', join(dir, 'secret'), 'loop', '.'];
    expect(await contentsOf(names)).toEqual(['inside', null, null, null, null, null, null]);
  });

  test('a workspace that is itself a link is read', async () => {
    await writeFile(join(workspace, 'AGENTS.md'), 'x');
    await symlink(workspace, join(dir, 'alias'));
    const [file] = await loadWorkspaceFiles(join(dir, 'alias'), ['AGENTS.md'], {}, createWorkspaceCache());
    expect(file).toEqual({ name: 'AGENTS.md', path: join(dir, 'alias', 'AGENTS.md'), content: 'x' });
  });

  test('folders are not returned as files', async () => {
    await mkdir(join(workspace, 'AGENTS.md'));
    expect(await contentsOf(['AGENTS.md'])).toEqual([null]);
  });

  test('of a file that is too large the beginning and the end are read, in whole characters (G28)', async () => {
    await writeFile(join(workspace, 'AGENTS.md'), `${'ä'.repeat(1000)}b${'ö'.repeat(1000)}`);
    const [content] = await contentsOf(['AGENTS.md'], { fileBytesMax: 101 });
    expect(content).toBe(`${'ä'.repeat(25)}\n\n[...]\n\n${'ö'.repeat(25)}`);
    const [odd] = await contentsOf(['AGENTS.md'], { fileBytesMax: 22 });
    expect(odd).toBe(`${'ä'.repeat(5)}\n\n[...]\n\n${'ö'.repeat(5)}`);
  });

  test('UTF-16 with a byte order mark is read, also where a large file is cut', async () => {
    const text = `\ufeff${'😀'.repeat(500)}`;
    await writeFile(join(workspace, 'le'), text, 'utf16le');
    await writeFile(join(workspace, 'be'), Buffer.from(text, 'utf16le').swap16());
    expect(await contentsOf(['le', 'be'])).toEqual([text.slice(1), text.slice(1)]);
    const cut = await contentsOf(['le', 'be'], { fileBytesMax: 44 });
    expect(cut).toEqual(Array(2).fill(`${'😀'.repeat(5)}\n\n[...]\n\n${'😀'.repeat(5)}`));
  });

  test('a file in another encoding begins with a line that says so', async () => {
    await writeFile(join(workspace, 'AGENTS.md'), Buffer.from('Gr\xfc\xdfe alle.', 'latin1'));
    expect(await contentsOf(['AGENTS.md'])).toEqual([
      expect.stringMatching(/^\[AGENTS\.md is not text in UTF-8 .* Convert it to UTF-8\.\]\n\nGr\ufffd\ufffde alle\.$/),
    ]);
  });

  test('a changed file is read again, also when another file replaced it', async () => {
    const cache = createWorkspaceCache();
    const read = (): Promise<(string | null)[]> => contentsOf(['AGENTS.md'], { freshForMs: 0 }, cache);
    await writeFile(join(workspace, 'AGENTS.md'), 'one');
    expect(await read()).toEqual(['one']);
    await writeFile(join(workspace, 'new'), 'two');
    await rename(join(workspace, 'new'), join(workspace, 'AGENTS.md'));
    expect(await read()).toEqual(['two']);
    await rm(join(workspace, 'AGENTS.md'));
    expect(await read()).toEqual([null]);
  });

  test('a fresh result is reused, also by simultaneous callers', async () => {
    const cache = createWorkspaceCache();
    const ask = () => loadWorkspaceFiles(workspace, ['AGENTS.md'], { freshForMs: 1e9 }, cache);
    await writeFile(join(workspace, 'AGENTS.md'), 'one');
    const [first, second] = await Promise.all([ask(), ask()]);
    expect(second).toBe(first);
    await writeFile(join(workspace, 'AGENTS.md'), 'two');
    expect(await ask()).toBe(first);
  });

  test('a file that exists and cannot be read is an error, and is read again the next time', async () => {
    const cache = createWorkspaceCache();
    const ask = () => loadWorkspaceFiles(workspace, ['a\0b'], { freshForMs: 1e9 }, cache);
    await expect(ask()).rejects.toBeInstanceOf(WorkspaceFileError);
    await expect(ask()).rejects.toMatchObject({ code: 'workspace_file_unreadable' });
    expect(cache.size).toBe(0);
  });
});
