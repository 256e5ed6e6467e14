// A backup that cannot be written says why. A restore that fails leaves what was there, and nothing
// of its own but the log and the locks of the database that it has made.
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { encodeFrame } from '../../src/features/backup/backup-file.ts';
import { runCli, type CliResult } from './run-cli.ts';

/** A folder with a backup whose end is missing, and restores into its folder `data`. */
async function openFolder(file = 'secrets/webhook-secret') {
  const cwd = await mkdtemp(join(tmpdir(), 'holdfast-restore-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const backup = join(cwd, 'cut.backup');
  const header = encodeFrame({ format: 'holdfast-backup-1', migrations: ['0001_durable_core.sql'] });
  const secret = encodeFrame({ file, mode: 0o600 }, Buffer.from('secret'));
  await writeFile(backup, gzipSync(Buffer.concat([header, secret])));
  const dataDir = join(cwd, 'data');
  const run = (...args: string[]): Promise<CliResult> => runCli(args, { cwd, env: { HOLDFAST_DATA_DIR: dataDir } });
  return { cwd, dataDir, run, restore: (...flags: string[]) => run('restore', backup, ...flags) };
}

const REFUSED = {
  code: 1,
  stderr: expect.stringMatching(
    /its end is missing[^]*The database and the files of the data directory are as they were/,
  ),
};

test('a restore into an empty folder that fails leaves no database and no folder', async () => {
  const { dataDir, restore } = await openFolder();
  expect(await restore()).toMatchObject(REFUSED);
  expect((await readdir(dataDir)).toSorted()).toEqual(['postgres-users.lock', 'postgres.lock', 'postgres.log']);
});

test('a restore that fails keeps the database that was there', async () => {
  const { dataDir, run, restore } = await openFolder();
  expect(await run('migrate')).toMatchObject({ code: 0 });
  const names = (await readdir(dataDir)).toSorted();
  const password = await readFile(join(dataDir, 'postgres/holdfast-password'), 'utf8');
  expect(await restore('--yes')).toMatchObject(REFUSED);
  expect((await readdir(dataDir)).toSorted()).toEqual(names);
  expect(await readFile(join(dataDir, 'postgres/holdfast-password'), 'utf8')).toBe(password);
  expect(await run('migrate')).toMatchObject({ stdout: '', stderr: expect.stringContaining('nothing to apply') });
});

test('a backup to a full disk says so, and leaves no part of it', async () => {
  const { dataDir, run } = await openFolder();
  expect(await run('migrate')).toMatchObject({ code: 0 });
  const file = join(dataDir, '..', 'full.backup');
  await symlink('/dev/full', `${file}.partial`);
  expect(await run('backup', file)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^holdfast: cannot write .*full\.backup: the disk is full\nFix: make room/m),
  });
  expect(await readdir(join(dataDir, '..'))).not.toContain('full.backup.partial');
});

test('a restore writes nothing through a link that has taken the place of a folder (G41)', async () => {
  const { cwd, dataDir, run, restore } = await openFolder('workspace/notes/a.md');
  expect(await run('migrate')).toMatchObject({ code: 0 });
  await mkdir(join(cwd, 'elsewhere'));
  await mkdir(join(dataDir, 'workspace'));
  await symlink(join(cwd, 'elsewhere'), join(dataDir, 'workspace/notes'));
  expect(await restore('--yes')).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(/notes\/a\.md\.partial" is outside[^]*Remove the link in the data directory/),
  });
  expect(await readdir(join(cwd, 'elsewhere'))).toEqual([]);
});
