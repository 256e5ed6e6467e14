// Copies the current row of a list: as a command for curl, as one of the command line, or as JSON.
import type { ReactElement } from 'react';
import { CopyButton } from './copy-button.tsx';

export interface CopiedRow {
  /** What it is, for people. */
  name: string;
  /** Where the API has it. */
  path: string;
  /** The command that prints it. */
  command: string;
  row: unknown;
}

/** A text as one word of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The key of a command comes from a variable, so that it is in no history. */
export function CopyRow({ name, path, command, row }: CopiedRow): ReactElement {
  const curl = `curl -H "Authorization: Bearer $HOLDFAST_API_KEY" ${quoted(location.origin + path)}`;
  return (
    <div className="row" role="group" aria-label={`Copy ${name}`}>
      <span className="soft">Copy {name} as</span>
      <CopyButton name="curl" text={() => curl} />
      <CopyButton name="CLI" text={() => command} />
      <CopyButton name="JSON" text={() => JSON.stringify(row, null, 2)} />
    </div>
  );
}
