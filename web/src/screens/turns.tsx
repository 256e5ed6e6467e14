// All turns, newest first, with filters in the URL. Turns that start meanwhile are counted on a button, and the list does not jump.
import { keepPreviousData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { useLive } from '../live/live-provider.tsx';
import { Empty } from '../parts/bits.tsx';
import { BulkBar } from '../parts/bulk-bar.tsx';
import { chosenColumns, ColumnChooser } from '../parts/chosen-columns.tsx';
import { CopyRow, type CopiedRow } from '../parts/copy-row.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Problem } from '../parts/problem.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';
import { TURN_COLUMNS, USUAL_TURN_COLUMNS, type ListedTurn } from './turn-columns.tsx';
import { TurnFacets } from './turn-facets.tsx';

const route = getRouteApi('/app/turns');
const PAGE = 100;
/** Of a reply: rows are copied as JSON, and a list shows none of it. */
const TEXT_CHARS = 300;
const COLUMNS = { all: TURN_COLUMNS, usual: USUAL_TURN_COLUMNS };

const STATUSES = [
  'running',
  'parked',
  'completed',
  'silent',
  'failed',
  'aborted',
  'timedOut',
  'interrupted',
  'resuming',
] as const;
const KINDS = ['message', 'cron', 'heartbeat', 'announce', 'followup', 'batch', 'compaction'] as const;
const LANES = ['main', 'subagent', 'cron', 'batch'] as const;

/** Filters that few people need. */
const MORE = [
  ['tool', 'Tool'],
  ['worker', 'Worker'],
  ['batch', 'Batch'],
  ['since', 'Started at or after'],
  ['until', 'Started before'],
  ['minMs', 'Took at least, in ms'],
  ['minCostUsd', 'Cost at least, in $'],
  ['tag', 'Tag, as key:value'],
] as const;

type Search = Omit<ReturnType<typeof route.useSearch>, 'columns'>;

export function Turns(): ReactElement {
  const { columns, ...search } = route.useSearch();
  const navigate = useNavigate({ from: '/turns' });
  const queries = useQueryClient();
  const [focused, setFocused] = useState<ListedTurn | null>(null);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { list, rows, onEnd } = useTurns(search);
  // There from the start: a line that appears when a row gets the focus would move the row away from the pointer.
  const current = focused ?? rows[0];
  const change = (part: Partial<Search>): void => void navigate({ search: (before) => ({ ...before, ...part }) });

  return (
    <>
      <div className="row">
        <h1>Turns</h1>
        <NewTurns onShow={() => void queries.resetQueries({ queryKey: ['turns'] })} />
        <ColumnChooser
          {...COLUMNS}
          choice={columns}
          onChange={(choice) =>
            void navigate({
              search: ({ columns: _columns, ...before }) =>
                choice === undefined ? before : { ...before, columns: choice },
              replace: true,
            })
          }
        />
      </div>
      <TurnFilters search={search} change={change} />
      <TurnFacets />
      <BulkBar
        target="turns"
        actions={['retry', 'abort']}
        selected={selected}
        filter={bulkFilterOf(search)}
        onDone={() => setSelected(new Set())}
      />
      <CopyRow kind="turn" current={current && copiedOf(current)} />
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 ? (
        <Empty command={'npx holdfast send main "Hello"'}>No turn fits. A turn begins when a message arrives.</Empty>
      ) : (
        <DataTable
          label="Turns"
          columns={chosenColumns(COLUMNS, columns)}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ id }) => void navigate({ to: '/turns/$id', params: { id } })}
          onCurrent={setFocused}
          selected={selected}
          onSelect={(id) => setSelected((before) => before.symmetricDifference(new Set([id])))}
          onEnd={onEnd}
          isLoadingMore={list.isFetchingNextPage}
        />
      )}
    </>
  );
}

function copiedOf(row: ListedTurn): CopiedRow {
  return { id: row.id, path: `/v1/turns/${row.id}`, command: `npx holdfast turns show ${row.id}`, row };
}

/** The turns of a search, page by page. */
function useTurns(search: Search) {
  const list = useInfiniteQuery({
    // Not named `turn`: events do not refresh it, the button does.
    queryKey: ['turns', search],
    queryFn: ({ pageParam, signal }) =>
      api.listTurns(
        { ...filterOf(search), steps: 'none', textChars: TEXT_CHARS, limit: PAGE, cursor: pageParam },
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    placeholderData: keepPreviousData,
  });
  const { fetchNextPage, hasNextPage, isFetching } = list;
  const rows = list.data?.pages.flatMap(({ items }) => items) ?? [];
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetching]);
  return { list, rows, onEnd };
}

function TurnFilters(props: { search: Search; change: (part: Partial<Search>) => void }): ReactElement {
  const { search, change } = props;
  return (
    <Filters>
      <TextFilter name="Session" value={search.session} onChange={(session) => change({ session })} />
      <Choice name="Status" value={search.status} options={STATUSES} onChange={(status) => change({ status })} />
      <Choice name="Kind" value={search.kind} options={KINDS} onChange={(kind) => change({ kind })} />
      <Choice name="Lane" value={search.lane} options={LANES} onChange={(lane) => change({ lane })} />
      <TextFilter name="Agent" value={search.agent} onChange={(agent) => change({ agent })} />
      <TextFilter name="Model" value={search.model} onChange={(model) => change({ model })} />
      <TextFilter name="Error code" value={search.code} onChange={(code) => change({ code })} />
      <TextFilter name="Id or text" value={search.q} onChange={(q) => change({ q })} />
      <details open={MORE.some(([name]) => search[name] !== undefined)}>
        <summary>More filters</summary>
        <div className="filters">
          {MORE.map(([name, title]) => (
            <TextFilter key={name} name={title} value={search[name]} onChange={(value) => change({ [name]: value })} />
          ))}
        </div>
      </details>
    </Filters>
  );
}

/** How many turns have started since the list was read. */
function NewTurns({ onShow }: { onShow: () => void }): ReactElement | null {
  const { startedTurns } = useLive();
  const [seen, setSeen] = useState(startedTurns);
  const count = startedTurns - seen;
  useEffect(() => setSeen((before) => Math.min(before, startedTurns)), [startedTurns]);
  if (count <= 0) return null;
  return (
    <button
      type="button"
      className="button"
      data-tone="main"
      onClick={() => {
        setSeen(startedTurns);
        onShow();
      }}
    >
      {countText(count)} new
    </button>
  );
}

type TurnQuery = NonNullable<Parameters<typeof api.listTurns>[0]>;

/** The query of a search; a value that the service does not know is refused by it, and shown. */
function filterOf({ status, kind, lane, minMs, minCostUsd, ...rest }: Search): TurnQuery {
  return {
    ...rest,
    minMs: numberOf(minMs),
    minCostUsd: numberOf(minCostUsd),
    status: status?.split(',') as TurnQuery['status'],
    kind: kind as TurnQuery['kind'],
    lane: lane as TurnQuery['lane'],
  };
}

/** The same for an action on all that match. */
function bulkFilterOf({ status, minMs, minCostUsd, ...rest }: Search): object {
  return {
    ...rest,
    ...(status === undefined ? {} : { status: status.split(',') }),
    ...(minMs === undefined ? {} : { minMs: numberOf(minMs) }),
    ...(minCostUsd === undefined ? {} : { minCostUsd: numberOf(minCostUsd) }),
  };
}

/** What is not a number stays as it was written: the service refuses it, and says so. */
function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  return Number.isNaN(number) ? (text as unknown as number) : number;
}
