// The parts of a model request, in lines.
import type { Schemas } from '../client/operations.ts';
import { layOutTable } from './table.ts';
import type { Terminal } from './terminal.ts';

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
      { title: 'TOKENS', value: ({ tokens }) => String(tokens), align: 'right' },
      { title: 'PLACE', value: ({ path }) => path, dropOrder: 1 },
    ],
    parts,
    width,
    paint,
  );
  for (const line of lines) print(line);
}
