// Which columns of a list are shown. The choice is in the URL, as names that commas separate, and only when it is not the usual one.
import { useId, type ReactElement } from 'react';
import type { Column } from './data-table.tsx';

const nameOf = ({ title }: { title: string }): string => title.toLowerCase();

interface Choosable<Row> {
  /** In the order in which they are shown. */
  all: readonly Column<Row>[];
  /** The titles of those that are shown when no choice was made. */
  usual: ReadonlySet<string>;
}

/** The columns of a choice; names that are not known are left out. */
export function chosenColumns<Row>({ all, usual }: Choosable<Row>, choice: string | undefined): Column<Row>[] {
  const names = new Set(choice?.split(','));
  const chosen = all.filter((column) => names.has(nameOf(column)));
  return chosen.length > 0 ? chosen : all.filter(({ title }) => usual.has(title));
}

/** A button, and the list of columns that it opens. */
export function ColumnChooser<Row>(
  props: Choosable<Row> & { choice: string | undefined; onChange: (choice: string | undefined) => void },
): ReactElement {
  const { all, usual, choice, onChange } = props;
  const id = useId();
  const shown = new Set(chosenColumns({ all, usual }, choice).map(({ title }) => title));

  function toggle(title: string): void {
    const next = all.filter((column) => (column.title === title ? !shown.has(title) : shown.has(column.title)));
    const isUsual = next.length === usual.size && next.every((column) => usual.has(column.title));
    onChange(isUsual || next.length === 0 ? undefined : next.map(nameOf).join(','));
  }

  return (
    <>
      <button type="button" className="button" popoverTarget={id}>
        Columns
      </button>
      <div id={id} popover="auto" className="chooser panel" role="group" aria-label="Columns">
        {all.map(({ title }) => (
          <label key={title} className="row">
            <input type="checkbox" checked={shown.has(title)} onChange={() => toggle(title)} />
            {title}
          </label>
        ))}
        <button type="button" className="button" onClick={() => onChange(undefined)}>
          Usual columns
        </button>
      </div>
    </>
  );
}
