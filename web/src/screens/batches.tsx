// All batches, newest first: how far they are, how fast, what they cost. A new one is made from a file.
import { useInfiniteQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo, useState, type ReactElement } from 'react';
import { api, type Batch } from '../api.ts';
import { me } from '../me.ts';
import { Empty } from '../parts/bits.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Problem } from '../parts/problem.tsx';
import { CancelBatch } from './batch-actions.tsx';
import { BATCH_COLUMNS, columnsWith } from './batch-columns.tsx';
import { Choice, Filters } from './filters.tsx';
import { NewBatch } from './new-batch.tsx';

const route = getRouteApi('/app/batches');
const PAGE = 50;
const STATUSES = ['uploading', 'running', 'paused', 'cancelling', 'ended'] as const;

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
        <BatchTable rows={rows} onEnd={onEnd} />
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

/** The list; a person who may change batches has a menu in each row that has not ended. */
function BatchTable({ rows, onEnd }: { rows: readonly Batch[]; onEnd: () => void }): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const queries = useQueryClient();
  const navigate = useNavigate({ from: '/batches' });
  const [asked, setAsked] = useState<{ batch: Batch; running: 'stop' | 'finish' } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const columns = useMemo(() => {
    if (who.role === 'viewer') return BATCH_COLUMNS;
    return columnsWith((change, batch) => {
      setError(null);
      if (change === 'cancel' || change === 'stop')
        return setAsked({ batch, running: change === 'stop' ? 'stop' : 'finish' });
      const { id } = batch;
      (change === 'pause' ? api.pauseBatch({ id }) : api.resumeBatch({ id }))
        .then(() => queries.invalidateQueries({ queryKey: ['batches'] }))
        .catch(setError);
    });
  }, [who.role, queries]);
  return (
    <>
      {error !== null && <Problem error={error} />}
      <DataTable
        label="Batches"
        columns={columns}
        rows={rows}
        idOf={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/batches/$id', params: { id } })}
        onEnd={onEnd}
      />
      {asked !== null && <CancelBatch {...asked} onClose={() => setAsked(null)} />}
    </>
  );
}
