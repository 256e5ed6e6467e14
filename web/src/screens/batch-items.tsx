// The items of a batch in input order, with filters in the URL.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useCallback, type ReactElement } from 'react';
import { api, type BatchItem } from '../api.ts';
import { microsOf } from '../format/amounts.ts';
import { Cost, Empty, Status } from '../parts/bits.tsx';
import { DataTable, type Column } from '../parts/data-table.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';

const route = getRouteApi('/app/batches/$id');
const PAGE = 100;
const STATUSES = [
  'pending',
  'waiting',
  'running',
  'parked',
  'answered',
  'silent',
  'failed',
  'cancelled',
  'expired',
] as const;

const COLUMNS: readonly Column<BatchItem>[] = [
  { title: 'Item', width: '70px', isNumber: true, cell: ({ n }) => n },
  { title: 'Status', width: '110px', cell: ({ status }) => <Status status={status} /> },
  { title: 'Id', width: 'minmax(100px, 1fr)', cell: ({ customId }) => <SafeText text={customId ?? ''} /> },
  {
    title: 'Session',
    width: 'minmax(140px, 2fr)',
    cell: ({ sessionKey, messageId }) =>
      // Before its first message an item has no session.
      messageId === null ? (
        <SafeText text={sessionKey} />
      ) : (
        <Link to="/sessions/$key" params={{ key: sessionKey }}>
          <SafeText text={sessionKey} />
        </Link>
      ),
  },
  {
    title: 'Turn',
    width: '110px',
    cell: ({ turnId }) =>
      turnId === null ? (
        ''
      ) : (
        <Link to="/turns/$id" params={{ id: turnId }}>
          turn {turnId.slice(-6)}
        </Link>
      ),
  },
  { title: 'Attempt', width: '72px', isNumber: true, cell: ({ attempt }) => attempt },
  {
    title: 'Cost',
    width: '124px',
    isNumber: true,
    cell: ({ costUsd, simulated, turnId }) =>
      turnId === null ? '' : <Cost of={{ costMicros: microsOf(costUsd), simulated }} isInColumn />,
  },
  {
    title: 'Why',
    width: 'minmax(140px, 3fr)',
    cell: ({ error, why }) => <SafeText text={error?.message ?? why?.text ?? ''} />,
  },
];

type Search = ReturnType<typeof route.useSearch>;

export function BatchItems({ id }: { id: string }): ReactElement {
  const { status, code, q } = route.useSearch();
  const navigate = useNavigate({ from: '/batches/$id' });
  const list = useInfiniteQuery({
    // Not below `batches`: events do not read the pages again, the button does.
    queryKey: ['batch-items', id, status, code, q],
    queryFn: ({ pageParam, signal }) =>
      api.listBatchItems(
        { id, status: status as BatchItem['status'], code, q, limit: PAGE, cursor: pageParam },
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    placeholderData: keepPreviousData,
  });
  const { fetchNextPage, hasNextPage, isFetching } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetching]);
  const rows = list.data?.pages.flatMap(({ items }) => items) ?? [];
  const change = (part: Partial<Search>): void => void navigate({ search: (before) => ({ ...before, ...part }) });
  return (
    <section className="items" aria-labelledby="items">
      <div className="row">
        <h2 id="items">Items</h2>
        <button type="button" className="button" onClick={() => void list.refetch()}>
          Refresh
        </button>
      </div>
      <Filters>
        <Choice name="Status" value={status} options={STATUSES} onChange={(next) => change({ status: next })} />
        <TextFilter name="Error code" value={code} onChange={(next) => change({ code: next })} />
        <TextFilter name="Id, session or text" value={q} onChange={(next) => change({ q: next })} />
      </Filters>
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 ? (
        <Empty>No item fits.</Empty>
      ) : (
        <DataTable
          label="Items"
          columns={COLUMNS}
          rows={rows}
          idOf={({ n }) => String(n)}
          onOpen={({ turnId }) => turnId !== null && void navigate({ to: '/turns/$id', params: { id: turnId } })}
          onEnd={onEnd}
        />
      )}
    </section>
  );
}
