// A copy of the product with one safeguard disabled, to show that the tests detect its absence. The
// product has no switch for this: the source text of the copy is changed, and a change whose text
// is not found fails.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface SourceChange {
  /** From the root of the checkout. */
  file: string;
  find: string;
  replace: string;
}

export interface Mutant {
  rootDir: string;
  remove(): void;
}

const checkout = fileURLToPath(new URL('../../..', import.meta.url));
const parts = ['src', 'workers', 'jobs', 'scripted-model', 'demo', 'migrations', 'package.json', 'tsconfig.json'];

/** The parts that a run of the tests needs beside the product. */
export const testParts = ['test', 'scripts', 'vitest.config.ts'];

/**
 * How often the text of a change is in its file; anything but 1 means that the mutant is out of
 * date.
 */
export function countPlaces({ file, find }: SourceChange, rootDir = checkout): number {
  return readFileSync(join(rootDir, file), 'utf8').split(find).length - 1;
}

/**
 * Copies the product, with `more` parts of the checkout, and applies the changes. Throws when one
 * of them does not find its text exactly once.
 */
export function makeMutant(changes: readonly SourceChange[], more: readonly string[] = []): Mutant {
  const rootDir = mkdtempSync(join(tmpdir(), 'holdfast-mutant-'));
  for (const part of [...parts, ...more]) cpSync(join(checkout, part), join(rootDir, part), { recursive: true });
  symlinkSync(join(checkout, 'node_modules'), join(rootDir, 'node_modules'));
  for (const change of changes) {
    const { file, find, replace } = change;
    const places = countPlaces(change, rootDir);
    if (places !== 1) throw new Error(`${file} has "${find}" ${places} times: the mutant is out of date`);
    const path = join(rootDir, file);
    const text = readFileSync(path, 'utf8').replace(find, () => replace);
    writeFileSync(path, text);
  }
  return { rootDir, remove: () => rmSync(rootDir, { recursive: true, force: true }) };
}
