// Pieces of output that several commands share.
import type { TableColumn } from './table.ts';
import type { Terminal } from './terminal.ts';

/** A name and a value on each line, aligned; null and undefined are left out. */
export function printFields(terminal: Terminal, fields: Record<string, string | number | null | undefined>): void {
  const shown = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length));
  for (const [name, value] of shown) terminal.print(`${terminal.paint('dim', name.padEnd(width))}  ${value}`);
}

/** A list of the API; one that is answered as a whole has no cursor. */
interface List<Row> {
  items: readonly Row[];
  nextCursor?: string | null;
}

/** Prints an answer with rows: as it is with `--json`, otherwise as a table. */
export function printTable<Row>(list: List<Row>, columns: readonly TableColumn<Row>[], terminal: Terminal): void {
  if (terminal.isJson) terminal.json(list);
  else terminal.table(columns, list.items);
}

/** Says how to get the next page, if there is one, or that the list is empty. */
export function noteNextPage({ items, nextCursor }: List<unknown>, terminal: Terminal, none = 'none'): void {
  if (typeof nextCursor === 'string') terminal.note(`more: --cursor ${nextCursor}`);
  else if (nextCursor === null && items.length === 0) terminal.note(none);
}
