// The sessions, newest first.
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useCallback, useState, type ReactElement } from 'react';
import { api, type Session } from '../api.ts';
import { countText, dollarsText } from '../format/amounts.ts';
import { Age, Empty, Status } from '../parts/bits.tsx';
import { chosenColumns, ColumnChooser } from '../parts/chosen-columns.tsx';
import { CopyRow, quoted, type CopiedRow } from '../parts/copy-row.tsx';
import { DataTable, type Column } from '../parts/data-table.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';

const route = getRouteApi('/app/sessions');
const PAGE = 100;
const STATUSES = ['idle', 'waiting', 'running'] as const;
const KINDS = ['main', 'direct', 'group', 'subagent', 'cron', 'batch', 'heartbeat', 'other'] as const;

const ALL: readonly Column<Session>[] = [
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
  {
    title: 'Tokens',
    width: '84px',
    isNumber: true,
    cell: ({ tokens }) => countText(tokens.input + tokens.output),
  },
  { title: 'Channel', width: '90px', cell: ({ channel }) => channel },
  { title: 'Queue mode', width: '90px', cell: ({ queueMode }) => queueMode },
  { title: 'Model', width: '120px', cell: ({ model }) => <SafeText text={model ?? ''} /> },
  { title: 'Cost', width: '84px', isNumber: true, cell: ({ costMicros }) => dollarsText(costMicros) },
  { title: 'Active', width: '100px', cell: ({ updatedAt }) => <Age at={updatedAt} /> },
  { title: 'Created', width: '100px', cell: ({ createdAt }) => <Age at={createdAt} /> },
  { title: 'Id', width: '290px', cell: ({ id }) => <span className="mono">{id}</span> },
];
const USUAL = new Set(['Status', 'Session', 'Kind', 'Agent', 'Waiting', 'Context', 'Cost', 'Active']);
const COLUMNS = { all: ALL, usual: USUAL };

type Search = ReturnType<typeof route.useSearch>;
type SessionQuery = NonNullable<Parameters<typeof api.listSessions>[0]>;

export function Sessions(): ReactElement {
  const { columns, ...search } = route.useSearch();
  const [focused, setFocused] = useState<Session | null>(null);
  const navigate = useNavigate({ from: '/sessions' });
  const { list, rows, onEnd } = useSessions(search);
  // There from the start: a line that appears when a row gets the focus would move the row away from the pointer.
  const current = focused ?? rows[0];
  const change = (part: Partial<Search>): void => void navigate({ search: (before) => ({ ...before, ...part }) });
  return (
    <>
      <div className="row">
        <h1>Sessions</h1>
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
      <Filters>
        <Choice name="Kind" value={search.kind} options={KINDS} onChange={(kind) => change({ kind })} />
        <Choice name="Status" value={search.status} options={STATUSES} onChange={(status) => change({ status })} />
        <TextFilter name="Agent" value={search.agent} onChange={(agent) => change({ agent })} />
        <TextFilter name="Channel" value={search.channel} onChange={(channel) => change({ channel })} />
        <TextFilter name="Id or key" value={search.q} onChange={(q) => change({ q })} />
        <Choice
          name="Newest by"
          value={search.order}
          options={['created', 'updated']}
          usual="created"
          onChange={(order) => change({ order })}
        />
      </Filters>
      <CopyRow kind="session" current={current && copiedOf(current)} />
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 ? (
        <Empty command={'npx holdfast send main "Hello"'}>
          No session fits. A session begins with its first message.
        </Empty>
      ) : (
        <DataTable
          label="Sessions"
          columns={chosenColumns(COLUMNS, columns)}
          onCurrent={setFocused}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ key }) => void navigate({ to: '/sessions/$key', params: { key } })}
          onEnd={onEnd}
        />
      )}
    </>
  );
}

function copiedOf(row: Session): CopiedRow {
  const { id, key } = row;
  return {
    id,
    path: `/v1/sessions/${encodeURIComponent(key)}`,
    command: `npx holdfast sessions show ${quoted(key)}`,
    row,
  };
}

/** The sessions of a search, page by page; a value that the service does not know is refused by it, and shown. */
function useSessions({ kind, status, order, ...rest }: Omit<Search, 'columns'>) {
  const query = {
    ...rest,
    kind: kind?.split(',') as SessionQuery['kind'],
    status: status?.split(',') as SessionQuery['status'],
    order: order as SessionQuery['order'],
  };
  const list = useInfiniteQuery({
    queryKey: ['session', 'list', query],
    queryFn: ({ pageParam, signal }) => api.listSessions({ ...query, limit: PAGE, cursor: pageParam }, { signal }),
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
