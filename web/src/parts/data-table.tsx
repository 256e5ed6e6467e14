// A list of any length: only the rows that can be seen are in the document. Rows are reached with j
// and k or the arrows, opened with Enter or a click, selected with x or their box. Below 640 px each
// row is a card.
import { useElementScrollRestoration } from '@tanstack/react-router';
import { useVirtualizer, type VirtualizerOptions } from '@tanstack/react-virtual';
import {
  useEffect,
  useMemo,
  useRef,
  useState,
  type CSSProperties,
  type ReactElement,
  type ReactNode,
  type RefObject,
} from 'react';
import { useSettings } from '../settings.tsx';
import { useKeys, useLeftRow } from './use-keys.ts';

export interface Column<Row> {
  title: string;
  /** As in `grid-template-columns`. */
  width: string;
  isNumber?: boolean;
  /** Only shown when it is chosen. */
  isExtra?: true;
  /** Its title is only read aloud. */
  isUntitled?: true;
  /** Not shown beside an opened row. */
  yields?: true;
  /** A card shows its value without its title. */
  isClear?: true;
  cell: (row: Row) => ReactNode;
}

interface DataTableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  /** The columns that were made wider or narrower, in pixels by title. */
  widths: Readonly<Record<string, number>>;
  /** Null: as wide as usual. */
  onWidth: (title: string, px: number | null) => void;
  rows: readonly Row[];
  idOf: (row: Row) => string;
  onOpen: (row: Row) => void;
  /** Called with the row that has the focus. */
  onCurrent?: (row: Row) => void;
  /** Called with the row to which a key has moved. */
  onMove?: (row: Row) => void;
  /** The row that is opened beside the list. */
  openedId?: string | undefined;
  /** Absent: rows cannot be selected. */
  selected?: ReadonlySet<string>;
  onSelect?: ((ids: readonly string[]) => void) | undefined;
  /** Called when the end is near. */
  onEnd?: () => void;
  isLoadingMore?: boolean;
}

const ROW_PX = 41;
const CARD_PX = 110;
const OVERSCAN = 8;
const NEAR_END = 20;

export function DataTable<Row>(props: DataTableProps<Row>): ReactElement {
  const { label, widths, onWidth, rows, idOf, onOpen, onCurrent, openedId, selected, onSelect, onEnd } = props;
  const columns = useSeenColumns(props.columns, openedId !== undefined);
  const place = `table ${label}`;
  const head = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(0);
  const virtual = useSeenRows({ body, place, rows, idOf, onEnd });
  const items = virtual.getVirtualItems();

  const moveTo = (index: number): void => {
    setAt(index);
    virtual.scrollToIndex(index);
    requestAnimationFrame(() => body.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus());
  };
  const rememberRow = useLeftRow({ place, rows, idOf, moveTo });
  useRowKeys({ body, rows, idOf, onOpen, onSelect, onMove: props.onMove, at, moveTo });
  const tracks = [
    ...(selected === undefined ? [] : ['18px']),
    ...columns.map(({ title, width }) => (widths[title] === undefined ? width : `${widths[title]}px`)),
  ];
  const height = virtual.getTotalSize();
  const style = { '--columns': tracks.join(' '), '--rows-height': `${height + 1}px` } as CSSProperties;
  return (
    <div className="table" role="table" aria-label={label} aria-rowcount={rows.length + 1} style={style}>
      <div role="rowgroup" className="table-head" ref={head}>
        <TitleRow {...{ columns, widths, onWidth }}>
          {selected !== undefined && <SelectAll {...{ rows, idOf, selected, onSelect }} />}
        </TitleRow>
      </div>
      <div
        className="table-body"
        role="rowgroup"
        data-scroll-restoration-id={place}
        ref={body}
        // Columns that do not fit are scrolled together with their titles.
        onScroll={({ currentTarget }) => head.current?.scrollTo({ left: currentTarget.scrollLeft })}
        aria-busy={props.isLoadingMore === true}
      >
        <div className="table-sizer" role="presentation" style={{ height }}>
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
                isOpened={id === openedId}
                onSelect={selected === undefined ? undefined : () => onSelect?.([id])}
                onCurrent={() => {
                  setAt(index);
                  rememberRow(id);
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

/** Moves, opens and selects by keys. */
function useRowKeys<Row>({
  body,
  rows,
  idOf,
  onOpen,
  onSelect,
  onMove,
  at,
  moveTo,
}: Pick<DataTableProps<Row>, 'rows' | 'idOf' | 'onOpen' | 'onSelect'> & {
  onMove: ((row: Row) => void) | undefined;
  body: RefObject<HTMLDivElement | null>;
  at: number;
  moveTo: (index: number) => void;
}): void {
  const { hasShortcuts } = useSettings();
  useKeys(body, (event, isInside) => {
    const act = actionOf(event, hasShortcuts);
    const row = rows[at];
    if (act === null || row === undefined) return;
    event.preventDefault();
    if (act === 'open') onOpen(row);
    else if (act === 'select') onSelect?.([idOf(row)]);
    else {
      const next = isInside ? Math.max(0, Math.min(rows.length - 1, at + act)) : at;
      moveTo(next);
      onMove?.(rows[next] ?? row);
    }
  });
}

/** Beside an opened row, fewer of them. */
function useSeenColumns<Row>(columns: readonly Column<Row>[], isBeside: boolean): readonly Column<Row>[] {
  return useMemo(() => columns.filter((column) => !isBeside || column.yields !== true), [columns, isBeside]);
}

/** Selects all rows that are loaded, or none. */
function SelectAll<Row>({
  rows,
  idOf,
  selected,
  onSelect,
}: Pick<DataTableProps<Row>, 'rows' | 'idOf' | 'onSelect'> & { selected: ReadonlySet<string> }): ReactElement {
  return (
    <input
      type="checkbox"
      aria-label="Select all rows that are loaded"
      checked={selected.size > 0 && selected.size === rows.length}
      onChange={({ target }) => onSelect?.(rows.map(idOf).filter((id) => selected.has(id) !== target.checked))}
    />
  );
}

function TitleRow<Row>({
  columns,
  widths,
  onWidth,
  children,
}: Pick<DataTableProps<Row>, 'columns' | 'widths' | 'onWidth'> & { children: ReactNode }): ReactElement {
  return (
    <div className="tr thead" role="row" aria-rowindex={1}>
      {children !== false && (
        <span role="columnheader" className="select">
          {children}
        </span>
      )}
      {columns.map(({ title, isNumber, isUntitled }) => (
        <span key={title} role="columnheader" className={isNumber === true ? 'number' : undefined}>
          {isUntitled === true ? <span className="hidden-visually">{title}</span> : title}
          <WidthHandle title={title} px={widths[title]} onWidth={(px) => onWidth(title, px)} />
        </span>
      ))}
    </div>
  );
}

const WIDTH_PX_MIN = 40;
const WIDTH_PX_MAX = 900;
const WIDTH_STEP_PX = 16;

/**
 * The end of a title: drawn, or moved with the arrows; a double click or Home makes the column as
 * wide as usual.
 */
function WidthHandle(props: {
  title: string;
  px: number | undefined;
  onWidth: (px: number | null) => void;
}): ReactElement {
  const { title, px: ownPx, onWidth } = props;
  const handle = useRef<HTMLSpanElement>(null);
  const [usualPx, setUsualPx] = useState(WIDTH_PX_MIN);
  const widthPx = (): number => Math.round(handle.current?.parentElement?.getBoundingClientRect().width ?? 0);
  const set = (px: number): void => onWidth(Math.max(WIDTH_PX_MIN, Math.min(WIDTH_PX_MAX, Math.round(px))));
  return (
    <span
      ref={handle}
      className="width-handle"
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${title}`}
      aria-valuemin={WIDTH_PX_MIN}
      aria-valuemax={WIDTH_PX_MAX}
      aria-valuenow={ownPx ?? usualPx}
      onFocus={() => setUsualPx(widthPx())}
      tabIndex={0}
      onPointerDown={({ currentTarget, pointerId }) => currentTarget.setPointerCapture(pointerId)}
      onPointerMove={({ currentTarget, pointerId, clientX }) => {
        const left = currentTarget.parentElement?.getBoundingClientRect().left ?? 0;
        if (currentTarget.hasPointerCapture(pointerId)) set(clientX - left);
      }}
      onDoubleClick={() => onWidth(null)}
      onKeyDown={({ key }) => {
        if (key === 'ArrowRight' || key === 'ArrowLeft')
          set(widthPx() + (key === 'ArrowRight' ? WIDTH_STEP_PX : -WIDTH_STEP_PX));
        if (key === 'Home') onWidth(null);
      }}
    />
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
    // Until it was measured: rows that are drawn in a second pass would delay the first frame.
    initialRect: { width: innerWidth, height: innerHeight },
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
  isOpened: boolean;
  onCurrent: () => void;
  onOpen: (row: Row) => void;
  /** Absent: it cannot be selected. */
  onSelect: (() => void) | undefined;
}

/** What does something itself when it is clicked. */
const ACTIVE = 'a, button, input, select, label, summary, [popover]';

/** A click on what does nothing itself opens the row, unless it has selected text. */
function opensRow({ target }: { target: EventTarget }): boolean {
  return target instanceof Element && target.closest(ACTIVE) === null && getSelection()?.isCollapsed !== false;
}

function TableRow<Row>(props: TableRowProps<Row>): ReactElement {
  const { row, index, start, columns, isSelected, isCurrent, isOpened, measure, onCurrent, onOpen, onSelect } = props;
  // Drawn once, not whenever the list is scrolled.
  const cells = useMemo(
    () =>
      columns.map(({ title, isNumber, isClear, cell }) => (
        <span
          key={title}
          role="cell"
          data-label={title}
          className={isNumber === true ? 'number' : isClear === true ? 'clear' : undefined}
        >
          {cell(row)}
        </span>
      )),
    [columns, row],
  );
  return (
    <div
      ref={measure}
      data-index={index}
      className="tr"
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      aria-current={isOpened || undefined}
      tabIndex={isCurrent ? 0 : -1}
      style={{ transform: `translateY(${start}px)` }}
      onFocus={onCurrent}
      onClick={(event) => opensRow(event) && onOpen(row)}
    >
      {onSelect !== undefined && (
        <span role="cell" className="select">
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select row ${index + 1}`}
            checked={isSelected === true}
            onChange={onSelect}
          />
        </span>
      )}
      {cells}
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
  if (key === 'Enter')
    return target instanceof HTMLElement && (target.role === 'row' || target.matches('body, main')) ? 'open' : null;
  return STEPS[key] ?? null;
}
