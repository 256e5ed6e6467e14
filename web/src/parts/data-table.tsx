// A list of any length: only the rows that can be seen are in the document. Rows are reached with j and k or the arrows, opened with Enter,
// selected with x. Below 640 px each row is a card.
import { useElementScrollRestoration } from '@tanstack/react-router';
import { useVirtualizer, type VirtualizerOptions } from '@tanstack/react-virtual';
import {
  useEffect,
  useRef,
  useState,
  type CSSProperties,
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
  type RefObject,
} from 'react';
import { useSettings } from '../settings.tsx';

export interface Column<Row> {
  title: string;
  /** As in `grid-template-columns`. */
  width: string;
  isNumber?: boolean;
  cell: (row: Row) => ReactNode;
}

interface DataTableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  idOf: (row: Row) => string;
  onOpen: (row: Row) => void;
  /** Called with the row that has the focus. */
  onCurrent?: (row: Row) => void;
  /** Absent: rows cannot be selected. */
  selected?: ReadonlySet<string>;
  onSelect?: (id: string) => void;
  /** Called when the end is near. */
  onEnd?: () => void;
  isLoadingMore?: boolean;
}

const ROW_PX = 37;
const CARD_PX = 170;
const OVERSCAN = 8;
const NEAR_END = 20;

export function DataTable<Row>(props: DataTableProps<Row>): ReactElement {
  const { label, columns, rows, idOf, onOpen, onCurrent, selected, onSelect, onEnd, isLoadingMore } = props;
  const place = `table ${label}`;
  const head = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(0);
  const { hasShortcuts } = useSettings();
  const virtual = useSeenRows({ body, place, rows, idOf, onEnd });
  const items = virtual.getVirtualItems();

  function moveTo(index: number): void {
    setAt(index);
    virtual.scrollToIndex(index);
    requestAnimationFrame(() => body.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus());
  }

  function onKeyDown(event: KeyboardEvent): void {
    const act = actionOf(event, hasShortcuts);
    const row = rows[at];
    if (act === null || row === undefined) return;
    event.preventDefault();
    if (act === 'open') onOpen(row);
    else if (act === 'select') onSelect?.(idOf(row));
    else moveTo(Math.max(0, Math.min(rows.length - 1, at + act)));
  }

  const style = { '--columns': columns.map(({ width }) => width).join(' ') } as CSSProperties;
  return (
    <div className="table" role="table" aria-label={label} aria-rowcount={rows.length + 1} style={style}>
      <div role="rowgroup" className="table-head" ref={head}>
        <TitleRow columns={columns} />
      </div>
      <div
        className="table-body"
        role="rowgroup"
        data-scroll-restoration-id={place}
        ref={body}
        // Columns that do not fit are scrolled together with their titles.
        onScroll={({ currentTarget }) => head.current?.scrollTo({ left: currentTarget.scrollLeft })}
        onKeyDown={onKeyDown}
        aria-busy={isLoadingMore === true}
      >
        <div className="table-sizer" role="presentation" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, key, start }) => {
            const row = rows[index]!;
            const id = idOf(row);
            return (
              <TableRow
                key={key}
                {...{ row, index, start, columns, onOpen }}
                measure={virtual.measureElement}
                isSelected={selected?.has(id)}
                isCurrent={index === at}
                onCurrent={() => {
                  setAt(index);
                  onCurrent?.(row);
                }}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

function TitleRow<Row>({ columns }: Pick<DataTableProps<Row>, 'columns'>): ReactElement {
  return (
    <div className="tr thead" role="row" aria-rowindex={1}>
      {columns.map(({ title, isNumber }) => (
        <span key={title} role="columnheader" className={isNumber === true ? 'number' : undefined}>
          {title}
        </span>
      ))}
    </div>
  );
}

/** The rows that can be seen. After Back, they are those that were seen before. */
export function useSeenRows<Row>(
  seen: Pick<DataTableProps<Row>, 'rows' | 'idOf'> & {
    onEnd?: (() => void) | undefined;
    body: RefObject<HTMLDivElement | null>;
    place: string;
    /** How high a row is likely to be; absent: it has one line. */
    rowPx?: number;
  } & Partial<Pick<VirtualizerOptions<HTMLDivElement, Element>, 'gap' | 'anchorTo' | 'rangeExtractor'>>,
) {
  const { body, place, rows, idOf, onEnd, rowPx = ROW_PX, ...options } = seen;
  const before = useElementScrollRestoration({ id: place });
  const isNarrow = matchMedia('(max-width: 640px)').matches;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => body.current,
    estimateSize: () => (isNarrow ? CARD_PX : rowPx),
    overscan: OVERSCAN,
    initialOffset: before?.scrollY ?? 0,
    getItemKey: (index) => idOf(rows[index]!),
    ...options,
  });
  const lastShown = virtual.getVirtualItems().at(-1)?.index ?? 0;
  useEffect(() => {
    if (rows.length > 0 && lastShown >= rows.length - NEAR_END) onEnd?.();
  }, [lastShown, rows.length, onEnd]);
  return virtual;
}

interface TableRowProps<Row> {
  row: Row;
  index: number;
  /** How far down it is, in pixels. */
  start: number;
  columns: readonly Column<Row>[];
  isSelected: boolean | undefined;
  /** The one that keys act on. */
  isCurrent: boolean;
  measure: (element: Element | null) => void;
  onCurrent: () => void;
  onOpen: (row: Row) => void;
}

function TableRow<Row>(props: TableRowProps<Row>): ReactElement {
  const { row, index, start, columns, isSelected, isCurrent, measure, onCurrent, onOpen } = props;
  return (
    <div
      ref={measure}
      data-index={index}
      className="tr"
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      tabIndex={isCurrent ? 0 : -1}
      style={{ transform: `translateY(${start}px)` }}
      onFocus={onCurrent}
      onDoubleClick={() => onOpen(row)}
    >
      {columns.map(({ title, isNumber, cell }) => (
        <span key={title} role="cell" data-label={title} className={isNumber === true ? 'number' : undefined}>
          {cell(row)}
        </span>
      ))}
    </div>
  );
}

/** How far a key moves. */
const STEPS: Readonly<Record<string, number>> = {
  j: 1,
  ArrowDown: 1,
  k: -1,
  ArrowUp: -1,
  PageDown: 12,
  PageUp: -12,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** The action of a key on a row: moves by this many rows, opens or selects; null: none. */
function actionOf(event: KeyboardEvent, hasShortcuts: boolean): number | 'open' | 'select' | null {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  if (ctrlKey || metaKey || altKey || (key.length === 1 && !hasShortcuts)) return null;
  if (key === 'x') return 'select';
  // On a link within the row, Enter follows the link.
  if (key === 'Enter') return target instanceof HTMLElement && target.role === 'row' ? 'open' : null;
  return STEPS[key] ?? null;
}
