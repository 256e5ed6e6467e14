// The screen of every list: its data says what it reads, its columns and filters, what can be done to its rows, and where a row leads.
import { keepPreviousData, useInfiniteQuery, useSuspenseQuery } from '@tanstack/react-query';
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useState, type ReactElement, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { me } from '../me.ts';
import { Choice, TextFilter } from '../screens/filters.tsx';
import { useSettings } from '../settings.tsx';
import { Empty, NoMatch } from './bits.tsx';
import { BulkBar } from './bulk-bar.tsx';
import { chosenColumns, ColumnChooser } from './chosen-columns.tsx';
import { CopyRow } from './copy-row.tsx';
import { DataTable, type Column } from './data-table.tsx';
import type { Filter, List, Search } from './list.ts';
import { ListFilters } from './list-filters.tsx';
import { useMemory } from './list-memory.ts';
import { Fault, haveBegun, Loading } from './loading.tsx';
import { RowMenu, type RowActions } from './row-menu.tsx';

interface ListScreenProps<Row> {
  list: List<Row>;
  /** Values that are not in the URL, and what the list reads with them. */
  fixed?: Search;
  /** Beside the title; buttons are for people who may change something. */
  news?: ReactNode;
  buttons?: ReactNode;
  /** Between the title and the filters; `isReady`: it can be shown without moving the list later. */
  above?: ReactNode;
  isReady?: boolean;
  /** Below the filters. */
  facets?: ReactNode;
  rowActions?: ((row: Row) => RowActions) | undefined;
  onOpen?: (row: Row) => void;
  children?: ReactNode;
}

const PAGE = 100;
/** A list with so few filters needs no names for them. */
const VIEWS_FROM = 3;

export function ListScreen<Row>(props: ListScreenProps<Row>): ReactElement {
  const { list, fixed, news, buttons, above, isReady = true, facets, rowActions, onOpen, children } = props;
  const { data: who } = useSuspenseQuery(me);
  const state = useListState(list, fixed);
  const { query, rows, filters, memory, choice } = state;
  const [focused, setFocused] = useState<Row | null>(null);
  const canAct = who.role !== 'viewer';
  const all = useColumns(list, canAct ? rowActions : undefined);
  const shown = choice ?? memory.columns;
  const columns = useMemo(() => chosenColumns(all, shown), [all, shown]);
  const title = fixed === undefined ? <h1>{list.title}</h1> : <h2 id="part">{list.title}</h2>;
  if (!isReady || !haveBegun(query))
    return (
      <>
        {title}
        <Loading />
      </>
    );
  return (
    <>
      <div className="row">
        {title}
        {news}
        {canAct && buttons}
        {fixed !== undefined && <Button onClick={() => void query.refetch()}>Refresh</Button>}
      </div>
      {above}
      <Tools {...{ list, state, all, facets }} current={focused ?? rows[0]} />
      {children}
      <Fault query={query} />
      {query.isSuccess && rows.length === 0 && !query.hasNextPage ? (
        Object.keys(filters).length > 0 ? (
          <NoMatch noun={list.noun} onClear={state.clear} />
        ) : (
          <Empty {...list.empty}>{list.empty.text}</Empty>
        )
      ) : (
        <Rows {...{ list, state, columns, onOpen }} onCurrent={setFocused} />
      )}
    </>
  );
}

/** What the URL and this browser say about a list, its selected rows, and its data. */
function useListState<Row>(list: List<Row>, fixed: Search | undefined) {
  const { columns: choice, ...search }: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  const [memory, remember] = useMemory(list.title);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const filters: Search = Object.fromEntries(
    list.filters.flatMap(({ name }) => (search[name] === undefined ? [] : [[name, search[name]]])),
  );
  const change = (part: Search, replace = false): void => {
    setSelected(new Set());
    void navigate({ to: '.', search: ((before: Search) => ({ ...before, ...part })) as never, replace });
  };
  const clear = (): void => change(Object.fromEntries(list.filters.map(({ name }) => [name, undefined])));
  return {
    choice,
    filters,
    change,
    clear,
    memory,
    remember,
    selected,
    setSelected,
    ...useRows(list, { ...filters, ...fixed }),
  };
}
type ListState<Row> = ReturnType<typeof useListState<Row>>;

function Tools<Row>(props: {
  list: List<Row>;
  state: ListState<Row>;
  all: readonly Column<Row>[];
  facets: ReactNode;
  current: Row | undefined;
}): ReactElement {
  const { list, state, all, facets, current } = props;
  const { filters, change, memory, remember, selected, setSelected } = state;
  const choice = state.choice ?? memory.columns;
  const bulkFilter = list.bulk?.filterOf(filters) ?? null;
  const fields = (isRare: boolean): ReactNode[] =>
    list.filters
      .filter((filter) => isRare === (filter.isRare === true))
      .map((filter) => fieldOf(filter, filters, change));
  return (
    <ListFilters
      {...{ memory, remember }}
      set={Object.keys(filters).length}
      hasViews={list.filters.length > VIEWS_FROM}
      chooser={
        list.hasChooser && (
          <ColumnChooser
            {...{ all, choice }}
            onChange={(columns) => {
              remember({ columns, ...(columns === undefined ? { widths: {} } : {}) });
              change({ columns }, true);
            }}
          />
        )
      }
      rare={fields(true)}
      isRareOpen={list.filters.some(({ name, isRare }) => isRare && filters[name] !== undefined)}
      tools={
        <>
          {list.bulk && (
            <BulkBar
              target={list.bulk.target}
              actions={selected.size > 0 || bulkFilter !== null ? list.bulk.actions : []}
              selected={selected}
              filter={bulkFilter ?? {}}
              onDone={() => setSelected(new Set())}
            />
          )}
          {list.copied && <CopyRow kind={list.noun} current={current && list.copied(current)} />}
          {facets}
        </>
      }
    >
      {fields(false)}
    </ListFilters>
  );
}

function Rows<Row>(props: {
  list: List<Row>;
  state: ListState<Row>;
  columns: readonly Column<Row>[];
  onOpen: ((row: Row) => void) | undefined;
  onCurrent: (row: Row) => void;
}): ReactElement {
  const { list, state, columns, onOpen, onCurrent } = props;
  const { memory, remember, selected, setSelected, query, rows, onEnd } = state;
  const { history } = useRouter();
  const selecting = {
    selected,
    onSelect: (id: string) => setSelected((before) => before.symmetricDifference(new Set([id]))),
  };
  return (
    <DataTable
      {...{ columns, rows, onEnd, onCurrent }}
      label={list.label ?? list.title}
      widths={memory.widths ?? {}}
      onWidth={(name, px) => {
        const { [name]: _before, ...others } = memory.widths ?? {};
        remember({ widths: px === null ? others : { ...others, [name]: px } });
      }}
      idOf={list.idOf}
      onOpen={(row) => {
        const to = list.pathOf?.(row) ?? null;
        if (onOpen !== undefined) onOpen(row);
        else if (to !== null) history.push(to);
      }}
      {...(list.bulk === undefined ? {} : selecting)}
      isLoadingMore={query.isFetchingNextPage}
    />
  );
}

function fieldOf({ name, title, options, usual }: Filter, search: Search, change: (part: Search) => void) {
  const field = {
    name: title,
    value: search[name],
    onChange: (value: string | undefined) => change({ [name]: value }),
  };
  if (options === undefined) return <TextFilter key={name} {...field} />;
  return <Choice key={name} {...field} options={options} {...(usual === undefined ? {} : { usual })} />;
}

/** With that of the actions, if there are any. */
function useColumns<Row>({ columns }: List<Row>, rowActions: ListScreenProps<Row>['rowActions']) {
  return useMemo((): readonly Column<Row>[] => {
    if (rowActions === undefined) return columns;
    const cell = (row: Row): ReactNode => {
      const { of, actions } = rowActions(row);
      return actions.length === 0 ? null : <RowMenu of={of} actions={actions} />;
    };
    return [...columns, { title: 'Actions', width: '96px', isClear: true, cell }];
  }, [columns, rowActions]);
}

/** The rows of a search, page by page; a value that the service does not know is refused by it, and shown. */
function useRows<Row>({ key, read, pageSize = PAGE, rereadMs }: List<Row>, search: Search) {
  const { isLive } = useSettings();
  const query = useInfiniteQuery({
    queryKey: [...key, search],
    queryFn: ({ pageParam, signal }) => read(search, { limit: pageSize, cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data, dataUpdatedAt } }) =>
      isLive && rereadMs !== undefined
        ? rereadMs(data?.pages.flatMap(({ items }) => items) ?? [], dataUpdatedAt)
        : false,
  });
  const { fetchNextPage, hasNextPage, isFetching } = query;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetching]);
  const rows = useMemo(() => query.data?.pages.flatMap(({ items }) => items) ?? [], [query.data]);
  // A page of a filter may have no rows, and others after it.
  useEffect(() => {
    if (rows.length === 0) onEnd();
  }, [rows.length, onEnd]);
  return { query, rows, onEnd };
}
