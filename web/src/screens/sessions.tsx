// The sessions, newest first.
import { useInfiniteQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo, useState, type ReactElement } from 'react';
import { api, type Session } from '../api.ts';
import { serverNowMs } from '../format/time.ts';
import { me } from '../me.ts';
import { Empty } from '../parts/bits.tsx';
import { chosenColumns, ColumnChooser } from '../parts/chosen-columns.tsx';
import { CopyRow, quoted, type CopiedRow } from '../parts/copy-row.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Problem } from '../parts/problem.tsx';
import { useSettings } from '../settings.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';
import { sessionColumns } from './session-columns.tsx';
import { SessionQuestion, type SessionAction } from './session-questions.tsx';

const route = getRouteApi('/app/sessions');
const PAGE = 100;
const STATUSES = ['idle', 'waiting', 'running'] as const;
const KINDS = ['main', 'direct', 'group', 'subagent', 'cron', 'batch', 'heartbeat', 'other'] as const;

/** The shortest time after which the list is read again because of a lease. */
const LEASE_POLL_MS_MIN = 5_000;

type Search = ReturnType<typeof route.useSearch>;
type SessionQuery = NonNullable<Parameters<typeof api.listSessions>[0]>;

export function Sessions(): ReactElement {
  const { columns, ...search } = route.useSearch();
  const { data: who } = useSuspenseQuery(me);
  const [focused, setFocused] = useState<Session | null>(null);
  const [asked, setAsked] = useState<{ action: SessionAction; session: Session } | null>(null);
  const choosable = useMemo(
    () => sessionColumns(who.role === 'viewer' ? undefined : (action, session) => setAsked({ action, session })),
    [who.role],
  );
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
          {...choosable}
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
      <SessionFilters search={search} change={change} />
      <CopyRow kind="session" current={current && copiedOf(current)} />
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 ? (
        <Empty command={'npx holdfast send main "Hello"'}>
          No session fits. A session begins with its first message.
        </Empty>
      ) : (
        <DataTable
          label="Sessions"
          columns={chosenColumns(choosable, columns)}
          onCurrent={setFocused}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ key }) => void navigate({ to: '/sessions/$key', params: { key } })}
          onEnd={onEnd}
        />
      )}
      {asked !== null && <SessionQuestion {...asked} onClose={() => setAsked(null)} />}
    </>
  );
}

function SessionFilters(props: { search: Search; change: (part: Partial<Search>) => void }): ReactElement {
  const { search, change } = props;
  return (
    <Filters>
      <Choice
        name="Kind"
        value={search.kind}
        options={KINDS}
        usual="all but batch"
        onChange={(kind) => change({ kind })}
      />
      <Choice name="Status" value={search.status} options={STATUSES} onChange={(status) => change({ status })} />
      <TextFilter name="Agent" value={search.agent} onChange={(agent) => change({ agent })} />
      <TextFilter name="Channel" value={search.channel} onChange={(channel) => change({ channel })} />
      <TextFilter name="Tag, as key:value" value={search.tag} onChange={(tag) => change({ tag })} />
      <TextFilter name="Id or key" value={search.q} onChange={(q) => change({ q })} />
      <Choice
        name="Newest by"
        value={search.order}
        options={['created', 'updated']}
        usual="created"
        onChange={(order) => change({ order })}
      />
    </Filters>
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
  const { isLive } = useSettings();
  const list = useInfiniteQuery({
    queryKey: ['session', 'list', query],
    queryFn: ({ pageParam, signal }) => api.listSessions({ ...query, limit: PAGE, cursor: pageParam }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state: { data, dataUpdatedAt } }) =>
      isLive ? firstLeaseMs(data?.pages.flatMap(({ items }) => items) ?? [], dataUpdatedAt) : false,
  });
  const { fetchNextPage, hasNextPage, isFetching } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetching]);
  const rows = list.data?.pages.flatMap(({ items }) => items) ?? [];
  return { list, rows, onEnd };
}

/**
 * How long after the sessions were read the first of their leases ends; false: none of them is held. No event says that a lease was renewed, so
 * the list is then read again.
 */
function firstLeaseMs(sessions: readonly Session[], readAtMs: number): number | false {
  const readAt = readAtMs + serverNowMs() - Date.now();
  const leftMs = sessions.flatMap(({ lock }) => (lock === null ? [] : [Date.parse(lock.until) - readAt]));
  const first = Math.min(...leftMs.filter((ms) => ms > 0));
  // In whole seconds, so that the same answer gives the same time.
  return Number.isFinite(first) ? Math.max(LEASE_POLL_MS_MIN, Math.ceil(first / 1_000) * 1_000) : false;
}
