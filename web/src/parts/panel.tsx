// A part of a screen with a heading of its own, and tables of few rows, which are cards on a phone.
import { useId, type ComponentProps, type ReactElement, type ReactNode } from 'react';

interface PanelProps extends ComponentProps<'section'> {
  title: string;
  /** Beside the heading. */
  buttons?: ReactNode;
}

export function Panel({ title, buttons, children, className = '', ...section }: PanelProps): ReactElement {
  const id = useId();
  return (
    <section {...section} className={`panel ${className}`.trim()} aria-labelledby={id}>
      <div className="row">
        <h2 id={id}>{title}</h2>
        {buttons !== undefined && <span className="row end">{buttons}</span>}
      </div>
      {children}
    </section>
  );
}

export interface PlainColumn<Row> {
  title: string;
  isNumber?: true;
  /** A card shows its value without its title. */
  isClear?: true;
  className?: string;
  cell: (row: Row) => ReactNode;
}

interface PlainTableProps<Row> {
  caption?: ReactNode;
  /** The first one names the row. */
  columns: readonly PlainColumn<Row>[];
  rows: readonly Row[];
  idOf: (row: Row, at: number) => string | number;
}

export function PlainTable<Row>({ caption, columns, rows, idOf }: PlainTableProps<Row>): ReactElement {
  const classOf = ({ isNumber, className }: PlainColumn<Row>) => (isNumber === true ? 'number' : className);
  return (
    <table className="plain cards">
      {caption !== undefined && <caption>{caption}</caption>}
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.title} scope="col" className={column.isNumber === true ? 'number' : undefined}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={idOf(row, at)}>
            {columns.map((column, place) =>
              place === 0 ? (
                <th key={column.title} scope="row" className={classOf(column)}>
                  {column.cell(row)}
                </th>
              ) : (
                <td
                  key={column.title}
                  className={classOf(column)}
                  data-label={column.isClear === true ? undefined : column.title}
                >
                  {column.cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
