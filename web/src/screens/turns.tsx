// All turns, newest first, with filters in the URL. Turns that start meanwhile are counted on a button, and the list does not jump.
import { keepPreviousData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { countText, dollarsText } from '../format/amounts.ts';
import { durationText, lengthMs } from '../format/time.ts';
import { useLive } from '../live/live-provider.tsx';
import { Age, Empty, Status } from '../parts/bits.tsx';
import { BulkBar } from '../parts/bulk-bar.tsx';
import { DataTable, type Column } from '../parts/data-table.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';

const route = getRouteApi('/app/turns');
const PAGE = 100;

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

type ListedTurn = Awaited<ReturnType<typeof api.listTurns>>['items'][number];

const COLUMNS: readonly Column<ListedTurn>[] = [
  { title: 'Status', width: '104px', cell: ({ status }) => <Status status={status} /> },
  {
    title: 'Turn',
    width: '142px',
    cell: ({ id, kind }) => (
      <Link to="/turns/$id" params={{ id }}>
        {kind} {id.slice(-6)}
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
  { title: 'Model', width: 'minmax(100px, 1fr)', cell: ({ model }) => model.replace(/^[^/]+\//, '') },
  { title: 'Steps', width: '52px', isNumber: true, cell: ({ stepCount }) => stepCount },
  {
    title: 'Tokens',
    width: '70px',
    isNumber: true,
    cell: ({ usage }) => countText(usage.inputTokens + usage.outputTokens),
  },
  { title: 'Cost', width: '76px', isNumber: true, cell: ({ costMicros }) => dollarsText(costMicros) },
  {
    title: 'Waited',
    width: '72px',
    isNumber: true,
    cell: ({ queuedAt, claimedAt }) => durationText(lengthMs(queuedAt, claimedAt)),
  },
  {
    title: 'Took',
    width: '72px',
    isNumber: true,
    cell: ({ startedAt, endedAt }) => durationText(lengthMs(startedAt, endedAt)),
  },
  { title: 'Started', width: '96px', cell: ({ startedAt }) => <Age at={startedAt} /> },
  {
    title: 'Why',
    width: 'minmax(120px, 2fr)',
    cell: ({ error, why }) => <SafeText text={error?.message ?? why?.text ?? ''} />,
  },
];

type Search = ReturnType<typeof route.useSearch>;

export function Turns(): ReactElement {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/turns' });
  const queries = useQueryClient();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const list = useInfiniteQuery({
    // Not named `turn`: events do not refresh it, the button does.
    queryKey: ['turns', search],
    queryFn: ({ pageParam, signal }) =>
      api.listTurns({ ...filterOf(search), steps: 'none', limit: PAGE, cursor: pageParam }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    placeholderData: keepPreviousData,
  });
  const { fetchNextPage, hasNextPage, isFetchingNextPage, isFetching } = list;
  const rows = list.data?.pages.flatMap(({ items }) => items) ?? [];
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetching]);
  const change = (part: Partial<Search>): void => void navigate({ search: (before) => ({ ...before, ...part }) });

  function toggle(id: string): void {
    setSelected((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  }

  return (
    <>
      <div className="row">
        <h1>Turns</h1>
        <NewTurns onShow={() => void queries.resetQueries({ queryKey: ['turns'] })} />
      </div>
      <TurnFilters search={search} change={change} />
      <BulkBar
        target="turns"
        actions={['retry', 'abort']}
        selected={selected}
        filter={bulkFilterOf(search)}
        onDone={() => setSelected(new Set())}
      />
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 ? (
        <Empty command={'npx holdfast send main "Hello"'}>No turn fits. Turns are there when messages arrive.</Empty>
      ) : (
        <DataTable
          label="Turns"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ id }) => void navigate({ to: '/turns/$id', params: { id } })}
          selected={selected}
          onSelect={toggle}
          onEnd={onEnd}
          isLoadingMore={isFetchingNextPage}
        />
      )}
    </>
  );
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
function filterOf({ session, status, kind, lane, since, agent, model, code, q }: Search): TurnQuery {
  return {
    agent,
    model,
    code,
    q,
    session,
    since,
    status: status?.split(',') as TurnQuery['status'],
    kind: kind as TurnQuery['kind'],
    lane: lane as TurnQuery['lane'],
  };
}

/** The same for an action on all that match. */
function bulkFilterOf({ status, ...rest }: Search): object {
  return { ...rest, ...(status === undefined ? {} : { status: status.split(',') }) };
}
