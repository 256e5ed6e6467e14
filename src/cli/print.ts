// Pieces of output that several commands share.
import type { ListAnswer } from '../contract/answers.ts';
import type { TableColumn } from './table.ts';
import type { Terminal } from './terminal.ts';

/** A name and a value on each line, aligned; null and undefined are left out. */
export function printFields(terminal: Terminal, fields: Record<string, string | number | null | undefined>): void {
  const shown = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length));
  for (const [name, value] of shown) terminal.print(`${terminal.paint('dim', name.padEnd(width))}  ${value}`);
}

/** Prints a page of a list: its rows, and how to get the next page. */
export function printList<Row>(list: ListAnswer<Row>, columns: readonly TableColumn<Row>[], terminal: Terminal): void {
  printTable(list, columns, terminal);
  noteNextPage(list, terminal);
}

/** Prints an answer with rows: as it is with `--json`, otherwise as a table. */
export function printTable<Row>(
  answer: { items: readonly Row[] },
  columns: readonly TableColumn<Row>[],
  terminal: Terminal,
): void {
  if (terminal.isJson) terminal.json(answer);
  else terminal.table(columns, answer.items);
}

/** Says how to get the next page, if there is one. */
export function noteNextPage(list: ListAnswer<unknown>, terminal: Terminal): void {
  if (list.nextCursor !== null) terminal.note(`more: --cursor ${list.nextCursor}`);
  else if (list.items.length === 0) terminal.note('none');
}
