// An earlier version of Holdfast: the sources of a commit of this repository, in a temporary
// folder.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The last commit before all inputs, waits and transactions got one way each. Its layout ends with
 * migration 0099.
 */
export const EARLIER_COMMIT = '2a010402f0d027a7173caf2ab7a04a916c01332d';

const own = fileURLToPath(new URL('../../..', import.meta.url));
const ARCHIVE_BYTES_MAX = 256 * 2 ** 20;

/** False in a shallow clone, and without git. */
export function hasCommit(commit: string): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: own, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes it in a new folder; `remove` deletes the folder. Its packages are those of this tree,
 * unless it needs others.
 */
export function makeEarlierVersion(commit: string): { rootDir: string; remove(): void } {
  const rootDir = mkdtempSync(join(tmpdir(), 'holdfast-earlier-'));
  const archive = execFileSync('git', ['archive', '--format=tar', commit], { cwd: own, maxBuffer: ARCHIVE_BYTES_MAX });
  execFileSync('tar', ['-x', '-C', rootDir], { input: archive });
  if (isDeepStrictEqual(dependenciesOf(rootDir), dependenciesOf(own))) {
    symlinkSync(join(own, 'node_modules'), join(rootDir, 'node_modules'));
  } else {
    const flags = ['--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
    execFileSync('npm', ['ci', ...flags], { cwd: rootDir, stdio: 'ignore' });
  }
  if (existsSync(join(rootDir, 'scripts/generate.ts')))
    execFileSync(process.execPath, ['scripts/generate.ts'], { cwd: rootDir });
  return { rootDir, remove: () => rmSync(rootDir, { recursive: true, force: true }) };
}

function dependenciesOf(rootDir: string): unknown {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(rootDir, 'package.json'), 'utf8')) as {
    dependencies: object;
    optionalDependencies?: object;
  };
  return { dependencies, optionalDependencies };
}
