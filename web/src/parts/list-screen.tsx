// The screen of every list: its data says what it reads, its columns and filters, what can be done
// to its rows, and where a row leads.
import { useRouter } from '@tanstack/react-router';
import { useDeferredValue, useMemo, useState, type ReactElement, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { useCanAct, useCanActOnMany } from '../me.ts';
import { Empty, NoMatch } from './bits.tsx';
import { chosenColumns } from './chosen-columns.tsx';
import { DataTable, type Column } from './data-table.tsx';
import type { List, Search } from './list.ts';
import { ListTools } from './list-filters.tsx';
import { useListState, type ListState } from './list-state.ts';
import { Fault, haveBegun, Loading } from './loading.tsx';
import { Beside } from './side-panel.tsx';
import { RowMenu, type RowActions } from './row-menu.tsx';

interface ListScreenProps<Row> {
  list: List<Row>;
  /** Values that are not in the URL, and what the list reads with them. */
  fixed?: Search;
  /** Beside the title; buttons are for people who may change something. */
  news?: ReactNode;
  buttons?: ReactNode;
  /**
   * Between the title and the filters; `isReady`: it can be shown without moving the list later.
   */
  above?: ReactNode;
  isReady?: boolean;
  rowActions?: ((row: Row) => RowActions) | undefined;
  /** Stands in the place of the table while no filter is set; `isWhole`: these are all rows. */
  grouped?: (rows: readonly Row[], isWhole: boolean) => ReactNode;
  children?: ReactNode;
}

export function ListScreen<Row>(props: ListScreenProps<Row>): ReactElement {
  const { list, fixed, news, buttons, above, isReady = true, rowActions, grouped, children } = props;
  const state = useListState(list, fixed);
  const { query, rows, filters, memory, choice, open, show } = state;
  const [focused, setFocused] = useState<Row | null>(null);
  const canAct = useCanAct();
  const all = useColumns(list, canAct ? rowActions : undefined);
  const shown = choice ?? memory.columns;
  const columns = useMemo(() => chosenColumns(all, shown), [all, shown]);
  const title = fixed === undefined ? <h1>{list.title}</h1> : <h2 id="part">{list.title}</h2>;
  const hasData = isReady && haveBegun(query);
  // The first rows take longer to draw than a key may wait for its frame.
  if (!useDeferredValue(hasData, false) || !hasData)
    return (
      <>
        {title}
        <Loading />
      </>
    );
  const opened =
    open === undefined
      ? undefined
      : list.panel?.(
          open,
          () => show(undefined),
          rows.find((row) => list.idOf(row) === open),
        );
  return (
    <Beside opened={opened} onClose={() => show(undefined)}>
      <div className="row">
        {title}
        {news}
        {canAct && buttons !== undefined && <span className="row end">{buttons}</span>}
        {fixed !== undefined && <Button onClick={() => void query.refetch()}>Refresh</Button>}
      </div>
      {above}
      <ListTools {...{ list, state, all }} current={focused ?? rows[0]} />
      {children}
      <Fault query={query} />
      {query.isSuccess && rows.length === 0 && !query.hasNextPage ? (
        Object.keys(filters).length > 0 ? (
          <NoMatch noun={list.noun} onClear={state.clear} />
        ) : (
          <Empty {...list.empty}>{list.empty.text}</Empty>
        )
      ) : grouped !== undefined && Object.keys(filters).length === 0 ? (
        grouped(rows, !query.hasNextPage)
      ) : (
        <Rows {...{ list, state, columns }} onCurrent={setFocused} />
      )}
    </Beside>
  );
}

function Rows<Row>(props: {
  list: List<Row>;
  state: ListState<Row>;
  columns: readonly Column<Row>[];
  onCurrent: (row: Row) => void;
}): ReactElement {
  const { list, state, columns, onCurrent } = props;
  const { memory, remember, selected, setSelected, query, rows, onEnd, open, show } = state;
  const { history } = useRouter();
  const canAct = useCanActOnMany();
  const selecting = {
    selected,
    onSelect: (ids: readonly string[]) => setSelected((before) => before.symmetricDifference(new Set(ids))),
  };
  const canShow = (row: Row): boolean => list.panel !== undefined && list.idOf(row) !== open;
  return (
    <DataTable
      {...{ columns, rows, onEnd }}
      label={list.label ?? list.title}
      widths={memory.widths ?? {}}
      onWidth={(name, px) => {
        const { [name]: _before, ...others } = memory.widths ?? {};
        remember({ widths: px === null ? others : { ...others, [name]: px } });
      }}
      idOf={list.idOf}
      openedId={list.panel === undefined ? undefined : open}
      onCurrent={onCurrent}
      // What is opened follows the keys.
      onMove={(row) => open !== undefined && canShow(row) && show(list.idOf(row), true)}
      onOpen={(row) => {
        const to = list.pathOf?.(row) ?? null;
        if (canShow(row)) show(list.idOf(row), open !== undefined);
        // What is opened already is opened whole.
        else if (to !== null) history.push(to);
      }}
      {...(list.bulk === undefined || !canAct ? {} : selecting)}
      isLoadingMore={query.isFetchingNextPage}
    />
  );
}

/** With that of the actions, if there are any. */
function useColumns<Row>({ columns }: List<Row>, rowActions: ListScreenProps<Row>['rowActions']) {
  return useMemo((): readonly Column<Row>[] => {
    if (rowActions === undefined) return columns;
    const cell = (row: Row): ReactNode => {
      const menu = rowActions(row);
      return menu.actions.length === 0 ? null : <RowMenu {...menu} />;
    };
    return [...columns, { title: 'Actions', width: '32px', isClear: true, yields: true, isUntitled: true, cell }];
  }, [columns, rowActions]);
}
