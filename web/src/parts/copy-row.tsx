// Copies the current row of a list: as a command for curl, as one of the command line, or as JSON.
import { Copy } from 'lucide-react';
import { useId, type ReactElement } from 'react';
import { CopyButton } from './copy-button.tsx';

export interface CopiedRow {
  id: string;
  /** Where the API has it. */
  path: string;
  /** The command that prints it. */
  command: string;
  row: unknown;
}

/** A text as one word of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/**
 * The key of a command comes from a variable, so that it is in no history. `kind` says what the
 * rows are; undefined: there is no row yet, and the place is kept, so that the list does not move
 * when it comes.
 */
export function CopyRow({ kind, current }: { kind: string; current: CopiedRow | undefined }): ReactElement {
  const id = useId();
  const name = `${kind} ${current?.id.slice(-6) ?? '……'}`;
  const curl = `curl -H "Authorization: Bearer $HOLDFAST_API_KEY" ${quoted(location.origin + (current?.path ?? ''))}`;
  const isDisabled = current === undefined;
  return (
    <>
      <button
        type="button"
        className="icon-button"
        popoverTarget={id}
        aria-label={`Copy ${name}…`}
        title={`Copy ${name}`}
      >
        <Copy size={15} />
      </button>
      <div id={id} popover="auto" className="chooser panel" role="group" aria-label={`Copy ${name}`}>
        <span className="soft">Copy {name} as</span>
        <div className="row">
          <CopyButton name="curl" isDisabled={isDisabled} text={() => curl} />
          <CopyButton name="CLI" isDisabled={isDisabled} text={() => current?.command ?? ''} />
          <CopyButton name="JSON" isDisabled={isDisabled} text={() => JSON.stringify(current?.row, null, 2)} />
        </div>
      </div>
    </>
  );
}
