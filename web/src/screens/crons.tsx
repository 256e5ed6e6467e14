// All crons: when they run next, and how it went.
import { useInfiniteQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useCallback, useState, type ReactElement } from 'react';
import { api, type Cron } from '../api.ts';
import { scheduleText } from '../format/schedule.ts';
import { me } from '../me.ts';
import { Age, Empty } from '../parts/bits.tsx';
import { DataTable, type Column } from '../parts/data-table.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { CronForm } from './cron-form.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';

const route = getRouteApi('/app/crons');

type Search = ReturnType<typeof route.useSearch>;

const PAGE = 100;

/** Whether it fires, and why not. */
export function CronState({ cron }: { cron: Cron }): ReactElement {
  if (!cron.enabled)
    return (
      <span className="chip" data-tone="warn">
        {cron.disabledReason === null ? 'paused' : 'disabled'}
      </span>
    );
  if (cron.failures > 0)
    return (
      <span className="chip" data-tone="bad">
        {cron.failures} failed
      </span>
    );
  return (
    <span className="chip" data-tone="good">
      on
    </span>
  );
}

const COLUMNS: readonly Column<Cron>[] = [
  { title: 'State', width: '110px', cell: (cron) => <CronState cron={cron} /> },
  {
    title: 'Cron',
    width: 'minmax(140px, 2fr)',
    cell: ({ id, name }) => (
      <Link to="/crons/$id" params={{ id }}>
        <SafeText text={name} />
      </Link>
    ),
  },
  {
    title: 'Schedule',
    width: 'minmax(160px, 2fr)',
    cell: ({ schedule }) => <span className="mono">{scheduleText(schedule)}</span>,
  },
  { title: 'Agent', width: 'minmax(80px, 1fr)', cell: ({ agentId }) => agentId },
  { title: 'Session', width: 'minmax(90px, 1fr)', cell: ({ target }) => <SafeText text={target} /> },
  { title: 'From', width: '80px', cell: ({ origin }) => origin },
  { title: 'Last', width: '96px', cell: ({ lastSlotAt }) => <Age at={lastSlotAt} /> },
  {
    title: 'Next',
    width: '96px',
    cell: ({ enabled, nextRunAt }) => (enabled ? <Age at={nextRunAt} /> : <span className="soft">not now</span>),
  },
];

export function Crons(): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const { agent, enabled } = route.useSearch();
  const navigate = useNavigate({ from: '/crons' });
  const [isNewOpen, setNewOpen] = useState(false);
  const list = useInfiniteQuery({
    queryKey: ['crons', 'list', agent, enabled],
    queryFn: ({ pageParam, signal }) =>
      api.listCrons(
        { agent, enabled: enabled === undefined ? undefined : enabled === 'yes', limit: PAGE, cursor: pageParam },
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
  const change = (part: Partial<Search>): void => void navigate({ search: (before) => ({ ...before, ...part }) });
  return (
    <>
      <div className="row">
        <h1>Crons</h1>
        {who.role !== 'viewer' && (
          <button type="button" className="button" data-tone="main" onClick={() => setNewOpen(true)}>
            New cron…
          </button>
        )}
      </div>
      <Filters>
        <TextFilter name="Agent" value={agent} onChange={(next) => change({ agent: next })} />
        <Choice name="Fires" value={enabled} options={['yes', 'no']} onChange={(next) => change({ enabled: next })} />
      </Filters>
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 ? (
        <Empty command={'npx holdfast cron add morning --cron "0 9 * * 1-5" --message "What is new?"'}>
          There is no cron{agent === undefined && enabled === undefined ? ' yet' : ' that fits'}. A cron lets an agent
          run by the clock.
        </Empty>
      ) : (
        <DataTable
          label="Crons"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          onOpen={({ id }) => void navigate({ to: '/crons/$id', params: { id } })}
          onEnd={onEnd}
        />
      )}
      {isNewOpen && (
        <CronForm
          onClose={() => setNewOpen(false)}
          onSaved={({ id }) => void navigate({ to: '/crons/$id', params: { id } })}
        />
      )}
    </>
  );
}
