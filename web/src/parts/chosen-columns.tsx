// Which columns of a list are shown. The choice is in the URL, as names that commas separate, and
// only when it is not the usual one.
import { useId, type ReactElement } from 'react';
import { Button } from './button.tsx';
import type { Column } from './data-table.tsx';

const nameOf = ({ title }: { title: string }): string => title.toLowerCase();

/** The columns of a choice; names that are not known are left out. */
export function chosenColumns<Row>(all: readonly Column<Row>[], choice: string | undefined): readonly Column<Row>[] {
  const names = new Set(choice?.split(','));
  const chosen = all.filter((column) => names.has(nameOf(column)));
  return chosen.length > 0 ? chosen : all.filter(({ isExtra }) => isExtra !== true);
}

/** A button, and the list of columns that it opens. */
export function ColumnChooser<Row>(props: {
  /** In the order in which they are shown. */
  all: readonly Column<Row>[];
  choice: string | undefined;
  onChange: (choice: string | undefined) => void;
}): ReactElement {
  const { all, choice, onChange } = props;
  const id = useId();
  const shown = new Set(chosenColumns(all, choice).map(({ title }) => title));

  function toggle(title: string): void {
    const next = all.filter((column) => (column.title === title ? !shown.has(title) : shown.has(column.title)));
    const names = next.map(nameOf).join(',');
    const usual = chosenColumns(all, undefined).map(nameOf).join(',');
    onChange(names === usual || names === '' ? undefined : names);
  }

  return (
    <>
      <Button popoverTarget={id}>Columns</Button>
      <div id={id} popover="auto" className="chooser panel" role="group" aria-label="Columns">
        {all.map(({ title }) => (
          <label key={title} className="row">
            <input type="checkbox" checked={shown.has(title)} onChange={() => toggle(title)} />
            {title}
          </label>
        ))}
        <Button onClick={() => onChange(undefined)}>Usual columns</Button>
      </div>
    </>
  );
}
