// `npm run sql` prints the statements of the store, each as it can be pasted into psql: its plain
// form, with none of its options, and its full form, with all of them. `npm run sql -- finish-turn`
// prints the one of that name.
import { printedForms } from './printed-statement.ts';
import { STATEMENTS } from './statement-catalogue.ts';

const [name] = process.argv.slice(2);
const chosen = STATEMENTS.filter((statement) => name === undefined || statement.name === name);
if (chosen.length === 0) {
  const names = STATEMENTS.map((statement) => statement.name).join(', ');
  process.stderr.write(`There is no statement "${name}". Name one of ${names}.\n`);
  process.exitCode = 1;
}
for (const text of chosen.flatMap(printedForms)) process.stdout.write(`${text}\n`);
