// Every message that waits, with the reason.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useCallback, type ReactElement } from 'react';
import { api } from '../api.ts';
import { Age, Empty } from '../parts/bits.tsx';
import { BulkBar } from '../parts/bulk-bar.tsx';
import { DataTable, type Column } from '../parts/data-table.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Pauses, PauseWork } from './pauses.tsx';

const PAGE = 100;
/** So much of each message is shown. */
const TEXT_CHARS = 200;
const NOTHING: ReadonlySet<string> = new Set();

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
    cell: ({ why }) => (
      <>
        <span className="chip" data-tone="warn">
          {why.code}
        </span>{' '}
        <SafeText text={why.text} />
      </>
    ),
  },
  { title: 'Waits since', width: '110px', cell: ({ receivedAt }) => <Age at={receivedAt} /> },
];

export function WaitingScreen(): ReactElement {
  const navigate = useNavigate();
  const list = useInfiniteQuery({
    queryKey: ['waiting'],
    queryFn: ({ pageParam, signal }) =>
      api.listWaiting({ limit: PAGE, cursor: pageParam, textChars: TEXT_CHARS }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const { fetchNextPage, hasNextPage, isFetching } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetching]);
  const rows = list.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <>
      <div className="row">
        <h1>Waiting</h1>
        <PauseWork />
      </div>
      <Pauses />
      <BulkBar
        target="messages"
        actions={['cancel']}
        selected={NOTHING}
        filter={{}}
        onDone={() => void list.refetch()}
      />
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 ? (
        <Empty>No message waits.</Empty>
      ) : (
        <DataTable
          label="Messages that wait"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ sessionKey }) => void navigate({ to: '/sessions/$key', params: { key: sessionKey } })}
          onEnd={onEnd}
        />
      )}
    </>
  );
}
