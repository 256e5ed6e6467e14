// Every message that waits, with the reason.
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useCallback, useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { Age, Empty } from '../parts/bits.tsx';
import { BulkBar } from '../parts/bulk-bar.tsx';
import { DataTable, type Column } from '../parts/data-table.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { WhyText } from '../parts/why-text.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';
import { ModelBlocks } from './model-blocks.tsx';
import { Pauses, PauseWork } from './pauses.tsx';

const PAGE = 100;
/** This much of each message is shown. */
const TEXT_CHARS = 200;
const LANES = ['main', 'subagent', 'cron', 'batch'] as const;
const route = getRouteApi('/app/waiting');

type Search = ReturnType<typeof route.useSearch>;
type WaitingQuery = NonNullable<Parameters<typeof api.listWaiting>[0]>;

type Waiting = Awaited<ReturnType<typeof api.listWaiting>>['items'][number];

const COLUMNS: readonly Column<Waiting>[] = [
  {
    title: 'Session',
    width: 'minmax(160px, 2fr)',
    cell: ({ sessionKey }) => (
      <Link to="/sessions/$key" params={{ key: sessionKey }}>
        <SafeText text={sessionKey} />
      </Link>
    ),
  },
  { title: 'Place', width: '60px', isNumber: true, cell: ({ position }) => position },
  { title: 'Lane', width: '80px', cell: ({ lane }) => lane },
  { title: 'Kind', width: '100px', cell: ({ kind }) => kind },
  { title: 'Text', width: 'minmax(160px, 3fr)', cell: ({ text }) => <SafeText text={text} /> },
  {
    title: 'Why',
    width: 'minmax(160px, 3fr)',
    cell: ({ why }) => <WhyText why={why} />,
  },
  { title: 'Waits since', width: '110px', cell: ({ receivedAt }) => <Age at={receivedAt} /> },
];

export function WaitingScreen(): ReactElement {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/waiting' });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const change = (part: Partial<Search>): void => {
    setSelected(new Set());
    void navigate({ search: (before) => ({ ...before, ...part }) });
  };
  const { list, rows, onEnd } = useWaiting(search);
  return (
    <>
      <div className="row">
        <h1>Waiting</h1>
        <PauseWork />
      </div>
      <Pauses />
      <ModelBlocks />
      <Filters>
        <Choice name="Lane" value={search.lane} options={LANES} onChange={(lane) => change({ lane })} />
        <TextFilter name="Session" value={search.session} onChange={(session) => change({ session })} />
        <TextFilter name="Batch" value={search.batch} onChange={(batch) => change({ batch })} />
      </Filters>
      <BulkBar
        target="messages"
        // An action on all that match knows no lanes and no batches.
        actions={selected.size > 0 || (search.lane ?? search.batch) === undefined ? ['cancel'] : []}
        selected={selected}
        filter={search}
        onDone={() => {
          setSelected(new Set());
          void list.refetch();
        }}
      />
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 ? (
        <Empty>
          {Object.keys(search).length === 0 ? 'No message waits.' : 'No message that waits fits the filters.'}
        </Empty>
      ) : (
        <DataTable
          label="Messages that wait"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ sessionKey }) => void navigate({ to: '/sessions/$key', params: { key: sessionKey } })}
          selected={selected}
          onSelect={(id) => setSelected((before) => before.symmetricDifference(new Set([id])))}
          onEnd={onEnd}
        />
      )}
    </>
  );
}

/** The messages of a search that wait, page by page. */
function useWaiting(search: Search) {
  const list = useInfiniteQuery({
    queryKey: ['waiting', search],
    queryFn: ({ pageParam, signal }) =>
      api.listWaiting(
        {
          ...search,
          // A lane that the service does not know is refused by it, and shown.
          lane: search.lane as WaitingQuery['lane'],
          limit: PAGE,
          cursor: pageParam,
          textChars: TEXT_CHARS,
        },
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const { fetchNextPage, hasNextPage, isFetching } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetching]);
  const rows = list.data?.pages.flatMap(({ items }) => items) ?? [];
  return { list, rows, onEnd };
}
