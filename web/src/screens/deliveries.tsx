// The outbox: how much is in each state and for how long, with filters in the URL; one delivery is opened below the filters.
import { keepPreviousData, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useCallback, useState, type ReactElement } from 'react';
import { api, type Delivery } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { beginningOf } from '../format/long-text.ts';
import { Age, Empty, Status } from '../parts/bits.tsx';
import { BulkBar } from '../parts/bulk-bar.tsx';
import { DataTable, type Column } from '../parts/data-table.tsx';
import { DeliveryDetails } from '../parts/delivery-details.tsx';
import { haveBegun, Loading } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';

const route = getRouteApi('/app/deliveries');
const PAGE = 100;
const STATUSES = ['pending', 'sending', 'sent', 'unknown', 'failed', 'expired', 'discarded'] as const;

type Search = ReturnType<typeof route.useSearch>;
type DeliveryQuery = NonNullable<Parameters<typeof api.listDeliveries>[0]>;

const COLUMNS: readonly Column<Delivery>[] = [
  { title: 'Status', width: '104px', cell: ({ status }) => <Status status={status} /> },
  {
    title: 'Delivery',
    width: '130px',
    cell: ({ id, payload }) => (
      <Link to="/deliveries" search={(before) => ({ ...before, open: id })}>
        {payload.type ?? 'delivery'} {id.slice(-6)}
      </Link>
    ),
  },
  {
    title: 'Session',
    width: 'minmax(140px, 2fr)',
    cell: ({ sessionKey }) => (
      <Link to="/sessions/$key" params={{ key: sessionKey }}>
        <SafeText text={sessionKey} />
      </Link>
    ),
  },
  { title: 'Channel', width: '90px', cell: ({ channel }) => <SafeText text={channel} /> },
  {
    title: 'Text',
    width: 'minmax(140px, 3fr)',
    cell: ({ payload }) => <SafeText text={beginningOf(payload.text ?? '', 200)} />,
  },
  { title: 'Attempts', width: '76px', isNumber: true, cell: ({ attempts }) => attempts },
  { title: 'Created', width: '96px', cell: ({ createdAt }) => <Age at={createdAt} /> },
  {
    title: 'Last answer',
    width: 'minmax(120px, 2fr)',
    cell: ({ lastStatus, lastError }) => <SafeText text={lastError ?? lastStatus?.toString() ?? ''} />,
  },
];

const queryOf = ({ status, channel, session, q }: Search): DeliveryQuery => ({
  channel,
  session,
  q,
  status: status?.split(',') as DeliveryQuery['status'],
});

/** The same for an action on all that match. */
const bulkFilterOf = ({ status, channel, session, q }: Search): object => ({
  ...(status === undefined ? {} : { status: status.split(',') }),
  ...(channel === undefined ? {} : { channel }),
  ...(session === undefined ? {} : { session }),
  ...(q === undefined ? {} : { q }),
});

const countQuery = queryOptions({ queryKey: ['deliveries', 'count'], queryFn: () => api.countDeliveries() });

export function Deliveries(): ReactElement {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/deliveries' });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { open, ...filters } = search;
  const { list, rows, onEnd } = useDeliveries(filters);
  const change = (part: Partial<Search>): void => {
    setSelected(new Set());
    void navigate({ search: (before) => ({ ...before, ...part }) });
  };
  const show = (id: string | null): void =>
    void navigate({ search: ({ open: _open, ...before }) => (id === null ? before : { ...before, open: id }) });

  // Shown together: counts that arrived later would move the list.
  const hasBegun = haveBegun(list, useQuery(countQuery));
  if (!hasBegun)
    return (
      <>
        <h1>Deliveries</h1>
        <Loading />
      </>
    );
  return (
    <>
      <h1>Deliveries</h1>
      <Counts />
      <Filters>
        <Choice name="Status" value={search.status} options={STATUSES} onChange={(status) => change({ status })} />
        <TextFilter name="Channel" value={search.channel} onChange={(channel) => change({ channel })} />
        <TextFilter name="Session" value={search.session} onChange={(session) => change({ session })} />
        <TextFilter name="Id or text" value={search.q} onChange={(q) => change({ q })} />
      </Filters>
      <BulkBar
        target="deliveries"
        actions={['redrive', 'discard']}
        selected={selected}
        filter={bulkFilterOf(filters)}
        onDone={() => setSelected(new Set())}
      />
      {open !== undefined && <DeliveryDetails key={open} id={open} onClose={() => show(null)} />}
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 ? (
        <Empty>
          No delivery fits. A reply is delivered when its message has <code>deliver.url</code>, or{' '}
          <code>channels.webhook.url</code> is set.
        </Empty>
      ) : (
        <DataTable
          label="Deliveries"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ id }) => show(id)}
          selected={selected}
          onSelect={(id) =>
            setSelected(
              (before) => new Set(before.has(id) ? [...before].filter((each) => each !== id) : [...before, id]),
            )
          }
          onEnd={onEnd}
        />
      )}
    </>
  );
}

/** The deliveries of a search, page by page. */
function useDeliveries(filters: Omit<Search, 'open'>) {
  const list = useInfiniteQuery({
    queryKey: ['deliveries', 'list', filters],
    queryFn: ({ pageParam, signal }) =>
      api.listDeliveries({ ...queryOf(filters), limit: PAGE, cursor: pageParam }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    placeholderData: keepPreviousData,
  });
  const { fetchNextPage, hasNextPage, isFetching } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetching]);
  const rows = list.data?.pages.flatMap(({ items }) => items) ?? [];
  return { list, rows, onEnd };
}

/** How many there are of each status, and how old the oldest is; each leads to those. */
function Counts(): ReactElement {
  const { data } = useQuery(countQuery);
  if (data === undefined) return <p className="soft">Counting…</p>;
  return (
    <ul className="row plain-list" aria-label="By status">
      {data.items
        .filter(({ count }) => count > 0)
        .map(({ status, count, isCapped, oldestAt }) => (
          <li key={status}>
            <Link to="/deliveries" search={{ status }}>
              {countText(count)}
              {isCapped && '+'} {status}
            </Link>{' '}
            <span className="soft">
              oldest <Age at={oldestAt} />
            </span>
          </li>
        ))}
    </ul>
  );
}
