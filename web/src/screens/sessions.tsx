// The sessions, newest first.
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useCallback, type ReactElement } from 'react';
import { api, type Session } from '../api.ts';
import { countText, dollarsText } from '../format/amounts.ts';
import { Age, Empty, Status } from '../parts/bits.tsx';
import { DataTable, type Column } from '../parts/data-table.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Choice, Filters } from './filters.tsx';

const route = getRouteApi('/app/sessions');
const PAGE = 100;
const KINDS = ['main', 'direct', 'group', 'subagent', 'cron', 'batch', 'heartbeat', 'other'] as const;

const COLUMNS: readonly Column<Session>[] = [
  { title: 'Status', width: '92px', cell: ({ status }) => <Status status={status} /> },
  {
    title: 'Session',
    width: 'minmax(180px, 3fr)',
    cell: ({ key, label }) => (
      <Link to="/sessions/$key" params={{ key }}>
        <SafeText text={label ?? key} />
      </Link>
    ),
  },
  { title: 'Kind', width: '84px', cell: ({ kind }) => kind },
  { title: 'Agent', width: '90px', cell: ({ agentId }) => agentId },
  { title: 'Waiting', width: '64px', isNumber: true, cell: ({ waitingMessages }) => countText(waitingMessages) },
  { title: 'Context', width: '76px', isNumber: true, cell: ({ tokens }) => countText(tokens.context) },
  { title: 'Cost', width: '84px', isNumber: true, cell: ({ costMicros }) => dollarsText(costMicros) },
  { title: 'Active', width: '100px', cell: ({ updatedAt }) => <Age at={updatedAt} /> },
];

type SessionQuery = NonNullable<Parameters<typeof api.listSessions>[0]>;

export function Sessions(): ReactElement {
  const { kind } = route.useSearch();
  const navigate = useNavigate({ from: '/sessions' });
  const list = useInfiniteQuery({
    queryKey: ['session', 'list', kind],
    queryFn: ({ pageParam, signal }) =>
      api.listSessions({ kind: kind?.split(',') as SessionQuery['kind'], limit: PAGE, cursor: pageParam }, { signal }),
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
      <h1>Sessions</h1>
      <Filters>
        <Choice
          name="Kind"
          value={kind}
          options={KINDS}
          onChange={(next) => void navigate({ search: next === undefined ? {} : { kind: next } })}
        />
      </Filters>
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 ? (
        <Empty command={'npx holdfast send main "Hello"'}>
          No session fits. A session is made by its first message.
        </Empty>
      ) : (
        <DataTable
          label="Sessions"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ key }) => void navigate({ to: '/sessions/$key', params: { key } })}
          onEnd={onEnd}
        />
      )}
    </>
  );
}
