// Goal: a user who makes a name space of mounts, in which a folder of the workspace is another
// folder, cannot make the service use that one (G41). Method: the kernel names a place there as if
// it were in the workspace, so only its mount tells.
import { execFileSync, spawn } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { confinedTo } from '../../src/files/confines.ts';
import { HeldFolder } from '../../src/files/held-folder.ts';
import { withFileInside } from '../../src/files/inside.ts';

/** The user id of `nobody`. */
const NOBODY = 65_534;
const AS_NOBODY = ['--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups'];

/** A skipped test has its reason in its title. */
const reason = canForge() ? '' : ', skipped: it needs root, and users that may make name spaces';

/**
 * A workspace of the user `nobody`, whose process sees a folder of root where the workspace has
 * `d`; `through`: the path to `d` by way of that process.
 */
async function forgedWorkspace(): Promise<{ workspace: string; through: string }> {
  const base = await mkdtemp(join(tmpdir(), 'holdfast-mounts-'));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  await chmod(base, 0o755);
  const [workspace, secrets] = [join(base, 'workspace'), join(base, 'secrets')];
  for (const folder of [workspace, join(workspace, 'd')]) {
    await mkdir(folder);
    await chown(folder, NOBODY, NOBODY);
  }
  await mkdir(secrets);
  await writeFile(join(secrets, 'key'), 'secret', { mode: 0o600 });
  const script = `mount --bind ${secrets} ${workspace}/d && echo ready && exec sleep 600`;
  const process = spawn('setpriv', [...AS_NOBODY, 'unshare', '-Urm', 'sh', '-c', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void process.kill('SIGKILL'));
  await once(process.stdout, 'data');
  return { workspace, through: `/proc/${process.pid}/root${workspace}/d` };
}

test.skipIf(reason !== '')(
  `a file is not read through a link into another name space of mounts (G41)${reason}`,
  async () => {
    const { workspace, through } = await forgedWorkspace();
    await symlink(`${through}/key`, join(workspace, 'link'));
    const read = withFileInside('link', confinedTo(workspace), ({ file }) => file.readFile('utf8'));
    await expect(read).rejects.toThrow();
    await writeFile(join(workspace, 'd', 'own'), 'own');
    await symlink(join(workspace, 'd', 'own'), join(workspace, 'inside'));
    expect(await withFileInside('inside', confinedTo(workspace), ({ file }) => file.readFile('utf8'))).toBe('own');
  },
);

test.skipIf(reason !== '')(
  `a folder is not held through a link into another name space of mounts (G41)${reason}`,
  async () => {
    const { workspace, through } = await forgedWorkspace();
    await expect(HeldFolder.open(join(workspace, 'd'), through)).rejects.toThrow('changed');
    (await HeldFolder.open(join(workspace, 'd'))).close();
  },
);

function canForge(): boolean {
  if (process.getuid?.() !== 0) return false;
  try {
    execFileSync('setpriv', [...AS_NOBODY, 'unshare', '-Urm', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
