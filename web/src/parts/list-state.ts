// What the URL and this browser say about a list, its selected rows, and its data.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { useSettings } from '../settings.tsx';
import { store, stored } from '../storage.ts';
import type { List, Search } from './list.ts';

const PAGE = 100;

/** What this browser keeps of a list; the URL takes precedence. */
interface Remembered {
  /** As in the URL. */
  columns?: string | undefined;
  /** In pixels, by the title of the column. */
  widths?: Readonly<Record<string, number>>;
  /** Filters as the query of a URL, by name. */
  views?: Readonly<Record<string, string>>;
}

const keyOf = (path: string): string => `holdfast.list ${path}`;

const read = (path: string): Remembered => stored(keyOf(path), {});

function useMemory(path: string): [Remembered, (part: Remembered) => void] {
  const [memory, setMemory] = useState(() => read(path));
  return [
    memory,
    (part) => {
      const next = { ...read(path), ...part };
      setMemory(next);
      store(keyOf(path), next);
    },
  ];
}

export function useListState<Row>(list: List<Row>, fixed: Search | undefined) {
  const { columns: choice, open, ...search }: Search = useSearch({ strict: false });
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
  /** Opens a row beside the list; undefined: closes it. */
  const show = (id: string | undefined, replace = false): void =>
    void navigate({ to: '.', search: ((before: Search) => ({ ...before, open: id })) as never, replace });
  const clear = (): void => change(Object.fromEntries(list.filters.map(({ name }) => [name, undefined])));
  return {
    choice,
    open,
    show,
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
export type ListState<Row> = ReturnType<typeof useListState<Row>>;

/**
 * The rows of a search, page by page; a value that the service does not know is refused by it, and
 * shown.
 */
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
