// All batches, newest first: how far they are, how fast, what they cost. A new one is made from a file.
import { useInfiniteQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useCallback, useState, type ReactElement } from 'react';
import { api, type Batch } from '../api.ts';
import { countText, dollarsText, percentText } from '../format/amounts.ts';
import { ageText } from '../format/time.ts';
import { me } from '../me.ts';
import { Age, Empty, Status } from '../parts/bits.tsx';
import { DataTable, type Column } from '../parts/data-table.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { endedItems, microsOf } from './batch-figures.ts';
import { Choice, Filters } from './filters.tsx';
import { NewBatch } from './new-batch.tsx';

const route = getRouteApi('/app/batches');
const PAGE = 50;
const STATUSES = ['uploading', 'running', 'paused', 'cancelling', 'ended'] as const;

const COLUMNS: readonly Column<Batch>[] = [
  { title: 'Status', width: '92px', cell: ({ status, outcome }) => <Status status={outcome ?? status} /> },
  {
    title: 'Batch',
    width: 'minmax(140px, 2fr)',
    cell: ({ id, name }) => (
      <Link to="/batches/$id" params={{ id }}>
        <SafeText text={name ?? id} />
      </Link>
    ),
  },
  { title: 'Via', width: '100px', cell: ({ via }) => via },
  {
    title: 'Ended items',
    width: 'minmax(172px, 1fr)',
    cell: ({ counts }) => (
      <>
        <progress value={endedItems(counts)} max={Math.max(1, counts.total)} aria-label="Ended items" />{' '}
        {percentText(endedItems(counts), counts.total)} of {countText(counts.total)}
      </>
    ),
  },
  { title: 'Failed', width: '64px', isNumber: true, cell: ({ counts }) => countText(counts.failed) },
  {
    title: 'A minute',
    width: '64px',
    isNumber: true,
    cell: ({ ratePerMinute }) => (ratePerMinute === null ? '' : countText(Math.round(ratePerMinute))),
  },
  { title: 'Ends', width: '84px', cell: ({ eta, endedAt }) => endText(eta, endedAt) },
  {
    title: 'Cost of cap',
    width: '112px',
    isNumber: true,
    cell: ({ costMicros, maxCostUsd }) =>
      `${dollarsText(costMicros)}${maxCostUsd === null ? '' : ` of ${dollarsText(microsOf(maxCostUsd))}`}`,
  },
  { title: 'Submitted', width: '88px', cell: ({ createdAt }) => <Age at={createdAt} /> },
];

function endText(eta: Batch['eta'], endedAt: string | null): string {
  if (endedAt !== null) return ageText(endedAt);
  return eta === null ? '' : ageText(eta.to);
}

export function Batches(): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const { status } = route.useSearch();
  const navigate = useNavigate({ from: '/batches' });
  const [isNewOpen, setNewOpen] = useState(false);
  const list = useInfiniteQuery({
    queryKey: ['batches', 'list', status],
    queryFn: ({ pageParam, signal }) =>
      // A state that the service does not know is refused by it, and shown.
      api.listBatches({ status: status as Batch['status'], limit: PAGE, cursor: pageParam }, { signal }),
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
        <h1>Batches</h1>
        {who.role !== 'viewer' && (
          <button type="button" className="button" data-tone="main" onClick={() => setNewOpen(true)}>
            New batch…
          </button>
        )}
      </div>
      <Filters>
        <Choice
          name="Status"
          value={status}
          options={STATUSES}
          onChange={(next) => void navigate({ search: () => (next === undefined ? {} : { status: next }) })}
        />
      </Filters>
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 ? (
        <Empty command="npx holdfast batch submit tickets.jsonl --pilot 20 --wait">
          {status === undefined ? 'No batch was submitted yet.' : `No batch is ${status}.`} A batch is a file with one
          conversation per line.
        </Empty>
      ) : (
        <DataTable
          label="Batches"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ id }) => void navigate({ to: '/batches/$id', params: { id } })}
          onEnd={onEnd}
        />
      )}
      {isNewOpen && (
        <NewBatch
          onClose={() => setNewOpen(false)}
          onSubmitted={(id) => void navigate({ to: '/batches/$id', params: { id } })}
        />
      )}
    </>
  );
}
