// How much of a test that has many cases is run. `npm test` runs the short form and `npm run
// test:full` the full one. A case that is missing from a form is part of the next. CI runs the
// short form and then the rest of the long one.
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/**
 * True for the long form, its rest and the full one: `HOLDFAST_TESTS=long`, `rest` or `full`, or
 * the exhaustive sweeps of `HOLDFAST_CRASH_SWEEP=full`.
 */
export function isLongForm(): boolean {
  return formOfTests() !== 'short' || process.env['HOLDFAST_CRASH_SWEEP'] === 'full';
}

/**
 * True when every figure has the size that its promise states, however long it takes:
 * `HOLDFAST_TESTS=full`.
 */
export function isFullForm(): boolean {
  return formOfTests() === 'full';
}

/**
 * True when the files that the short form has run in the same way are left out:
 * `HOLDFAST_TESTS=rest`.
 */
export function isRestOfLongForm(): boolean {
  return formOfTests() === 'rest';
}

/**
 * True for a test file that imports this module, itself or through other files of the tests: it can
 * run another part in another form.
 */
export function dependsOnForm(path: string, seen = new Set<string>()): boolean {
  const file = resolve(path);
  if (file === import.meta.filename) return true;
  if (seen.has(file) || !existsSync(file)) return false;
  seen.add(file);
  const imported = readFileSync(file, 'utf8').matchAll(/from '(\.[^']+\.ts)'/g);
  return imported
    .map(([, specifier]) => resolve(file, '..', specifier!))
    .filter((each) => each.startsWith(resolve(import.meta.dirname, '..')))
    .some((each) => dependsOnForm(each, seen));
}

function formOfTests(): string {
  const form = process.env['HOLDFAST_TESTS'] ?? 'short';
  if (!['short', 'long', 'rest', 'full'].includes(form)) {
    throw new Error(`HOLDFAST_TESTS is "${form}"; allowed: short, long, rest, full`);
  }
  return form;
}
