// `npm run sql` prints the statements of the store, each as it can be pasted into psql: its plain
// form, with none of its options, and its full form, with all of them. `npm run sql -- finish-turn`
// prints the one of that name, `npm run sql -- --write` writes the golden files of the statements
// of a turn.
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { printedForms } from './printed-statement.ts';
import { STATEMENTS, TURN_STATEMENTS } from './statement-catalogue.ts';

const GOLDEN = resolve(import.meta.dirname, '../src/kernel/statements');
const [name] = process.argv.slice(2);

if (name === '--write') {
  for (const file of readdirSync(GOLDEN)) rmSync(join(GOLDEN, file));
  for (const { file, text } of TURN_STATEMENTS.flatMap(printedForms)) writeFileSync(join(GOLDEN, file), text);
} else {
  const chosen = STATEMENTS.filter((statement) => name === undefined || statement.name === name);
  if (chosen.length === 0) {
    const names = STATEMENTS.map((statement) => statement.name).join(', ');
    process.stderr.write(`There is no statement "${name}". Name one of ${names}.\n`);
    process.exitCode = 1;
  }
  for (const { text } of chosen.flatMap(printedForms)) process.stdout.write(`${text}\n`);
}
