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
import { Choice, Filters } from './filters.tsx';

const route = getRouteApi('/app/sessions');
const PAGE = 100;
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
  { title: 'Cost', width: '84px', isNumber: true, cell: ({ costMicros }) => dollarsText(costMicros) },
  { title: 'Active', width: '100px', cell: ({ updatedAt }) => <Age at={updatedAt} /> },
  { title: 'Created', width: '100px', cell: ({ createdAt }) => <Age at={createdAt} /> },
  { title: 'Id', width: '290px', cell: ({ id }) => <span className="mono">{id}</span> },
];
const USUAL = new Set(['Status', 'Session', 'Kind', 'Agent', 'Waiting', 'Context', 'Cost', 'Active']);
const COLUMNS = { all: ALL, usual: USUAL };

type SessionQuery = NonNullable<Parameters<typeof api.listSessions>[0]>;

export function Sessions(): ReactElement {
  const { kind, columns } = route.useSearch();
  const [focused, setFocused] = useState<Session | null>(null);
  const navigate = useNavigate({ from: '/sessions' });
  const { list, rows, onEnd } = useSessions(kind);
  // There from the start: a line that appears when a row gets the focus would move the row away from the pointer.
  const current = focused ?? rows[0];
  /** Absent values are not in the URL. */
  const change = (search: { kind: string | undefined; columns: string | undefined }, replace = false): void =>
    void navigate({
      search: {
        ...(search.kind === undefined ? {} : { kind: search.kind }),
        ...(search.columns === undefined ? {} : { columns: search.columns }),
      },
      replace,
    });
  return (
    <>
      <div className="row">
        <h1>Sessions</h1>
        <ColumnChooser {...COLUMNS} choice={columns} onChange={(choice) => change({ kind, columns: choice }, true)} />
      </div>
      <Filters>
        <Choice name="Kind" value={kind} options={KINDS} onChange={(next) => change({ kind: next, columns })} />
      </Filters>
      <CopyRow kind="session" current={current && copiedOf(current)} />
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 ? (
        <Empty command={'npx holdfast send main "Hello"'}>
          No session fits. A session is made by its first message.
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

/** The sessions of a kind, page by page. */
function useSessions(kind: string | undefined) {
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
  return { list, rows, onEnd };
}
