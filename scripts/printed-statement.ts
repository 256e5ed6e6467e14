// A statement as `npm run sql` prints it: the facts that a reader needs, and a PREPARE that psql
// accepts.
import type { VisibleStatement } from '../src/database/statement.ts';

/**
 * The forms of a statement: with none of its options and with all of them; one form when it has no
 * options.
 */
export function printedForms(statement: VisibleStatement): string[] {
  const { options } = statement;
  return (options.length === 0 ? [[]] : [[], options]).map((included) => printed(statement, included));
}

function printed(statement: VisibleStatement, included: readonly string[]): string {
  const { name, purpose, locking, options } = statement;
  const { text, parameters } = statement.render(new Set(included));
  const types = parameters.length === 0 ? '' : ` (${parameters.map(({ type }) => type).join(', ')})`;
  const lines = [
    `-- ${name}`,
    `-- Purpose: ${purpose}`,
    `-- Locking: ${locking}`,
    ...(options.length === 0 ? [] : [`-- Options: ${included.join(', ') || 'none'} (of ${options.join(', ')})`]),
    ...(parameters.length === 0
      ? []
      : [
          `-- Parameters: ${parameters.map(({ name: parameter, type }, index) => `$${index + 1} ${parameter} ${type}`).join(', ')}`,
        ]),
    `prepare "${name}"${types} as`,
    text.replaceAll(/[ \t]+$/gm, ''),
    ';',
    '',
  ];
  return lines.join('\n');
}
