// The statements of the store, for `npm run sql` and for the tests that prepare, explain and
// compare them. Each is an exported constant of the file that sends it, or the function that sends
// it.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { VisibleStatement } from '../src/database/statement.ts';

const ROOT = resolve(import.meta.dirname, '..');

const SENDS = /\b(?:literal|statement|literalQuery|viewQuery|listOf)(?:<[^(]*>)?\(/;

const modules: object[] = await Promise.all(
  globSync('src/{database,kernel,features}/**/*.ts', { cwd: ROOT })
    .filter((file) => SENDS.test(readFileSync(join(ROOT, file), 'utf8')))
    .map((file) => import(join(ROOT, file))),
);

/** Every statement, in the order of their names. */
export const STATEMENTS: readonly VisibleStatement[] = modules
  .flatMap((module) => Object.values(module).filter(isStatement))
  .toSorted((a, b) => a.name.localeCompare(b.name));

/** Their plans are tested. */
const OF_A_TURN = new Set([
  'accept',
  'accept-reasons',
  'claim',
  'open-turn',
  'commit-step',
  'begin-compaction',
  'compaction-answered',
  'compaction-completed',
  'compaction-failed',
  'park-turn',
  'store-request',
  'finish-turn',
  'renew',
  'watch',
  'release',
]);

/** The statements of a turn. */
export const TURN_STATEMENTS = STATEMENTS.filter(({ name }) => OF_A_TURN.has(name));

function isStatement(value: unknown): value is VisibleStatement {
  const isAny = typeof value === 'function' || (typeof value === 'object' && value !== null);
  return isAny && 'render' in value && 'purpose' in value;
}
