// Pieces of output that several commands share.
import { simulatedNote } from '../core/words.ts';
import type { Schemas } from '../client/operations.ts';
import { layOutTable, type TableColumn } from './table.ts';
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

/** Says once of a list of costs that none of it was spent. */
export const NOTES_SIMULATED = {
  note({ items }: { items: readonly { simulated: boolean }[] }, terminal: Terminal): void {
    const text = simulatedNote(items);
    if (text !== null) terminal.note(text);
  },
};

/** The message of an error in an answer, in any of its forms; null when there is none. */
export function errorText(error: unknown): string | null {
  if (error === null || error === undefined) return null;
  if (typeof error === 'string') return error;
  if (typeof error !== 'object') return JSON.stringify(error);
  const { message, code, type } = error as { message?: unknown; code?: unknown; type?: unknown };
  const name = [code, type].find((each) => typeof each === 'string');
  if (typeof message === 'string') return name === undefined ? message : `${message} (${name})`;
  return name ?? JSON.stringify(error);
}

type Part = Schemas['ModelRequest']['parts'][number];

const TRUST_STYLES = { trusted: 'green', untrusted: 'yellow', model: 'dim' } as const;

/** Prints a line for each part: its position, kind, author, trust and estimated tokens. */
export function printParts(
  parts: readonly Part[],
  print: (line: string) => void,
  { width, paint }: Pick<Terminal, 'width' | 'paint'>,
): void {
  const lines = layOutTable<Part>(
    [
      { title: 'PART', value: ({ name, cacheMarker }) => (cacheMarker ? `${name} (cached up to here)` : name) },
      { title: 'FROM', value: ({ origin }) => origin },
      { title: 'TRUST', value: ({ trust }) => trust, style: ({ trust }) => TRUST_STYLES[trust] },
      { title: 'TOKENS', value: ({ tokens }) => tokens },
      { title: 'PLACE', value: ({ path }) => path, dropOrder: 1 },
    ],
    parts,
    width,
    paint,
  );
  for (const line of lines) print(line);
}
