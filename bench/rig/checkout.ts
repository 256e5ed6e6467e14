// Another commit of this repository, as a git worktree in a temporary folder, ready to be started.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Checkout {
  rootDir: string;
  remove(): void;
}

const run = promisify(execFile);
const ownRoot = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Checks the commit out. Its packages are those of this tree if the lock file is the same;
 * otherwise `npm ci` installs them. With `hasOwnPackages` the caller installs them, and then
 * generates.
 */
export async function openCheckout(commit: string, { hasOwnPackages = false } = {}): Promise<Checkout> {
  const hash = await hashOf(commit);
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-before-'));
  const rootDir = join(folder, 'tree');
  const remove = (): void => {
    process.off('exit', remove);
    execFileSync('git', ['worktree', 'remove', '--force', rootDir], { cwd: ownRoot, stdio: 'ignore' });
    rmSync(folder, { recursive: true, force: true });
  };
  await run('git', ['worktree', 'add', '--detach', rootDir, hash], { cwd: ownRoot });
  // Also when a signal ends the run.
  process.once('exit', remove);
  if (hasOwnPackages) return { rootDir, remove };
  if (lockFileOf(rootDir) === lockFileOf(ownRoot)) {
    symlinkSync(join(ownRoot, 'node_modules'), join(rootDir, 'node_modules'), 'junction');
    await generate(rootDir);
  } else {
    await run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: rootDir });
  }
  return { rootDir, remove };
}

/**
 * What the commit makes of its own sources before anything else, as `npm ci` does; older commits
 * have it as files.
 */
export async function generate(rootDir: string): Promise<void> {
  const script = join(rootDir, 'scripts/generate.ts');
  if (existsSync(script)) await run(process.execPath, [script], { cwd: rootDir });
}

async function hashOf(commit: string): Promise<string> {
  try {
    const { stdout } = await run('git', ['rev-parse', '--verify', '--quiet', `${commit}^{commit}`], { cwd: ownRoot });
    return stdout.trim();
  } catch (cause) {
    const text = `There is no commit ${commit} in this repository. Name one that \`git log\` shows; a shallow clone has only the newest.`;
    throw new Error(text, { cause });
  }
}

function lockFileOf(rootDir: string): string {
  return readFileSync(join(rootDir, 'package-lock.json'), 'utf8');
}
