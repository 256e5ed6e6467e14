// All crons: when they run next, how their last fires went, and what they cost.
import { useInfiniteQuery, useQueries, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo, useState, type ReactElement } from 'react';
import { api, type Cron, type CronSummary } from '../api.ts';
import { scheduleText } from '../format/schedule.ts';
import { me } from '../me.ts';
import { Age, Empty } from '../parts/bits.tsx';
import { CronState, RunCost } from '../parts/cron-state.tsx';
import { DataTable, type Column } from '../parts/data-table.tsx';
import { FireStrip } from '../parts/fire-strip.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { CronForm } from './cron-form.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';

const route = getRouteApi('/app/crons');

type Search = ReturnType<typeof route.useSearch>;

const PAGE = 100;

interface Row {
  cron: Cron;
  /** Absent: it is being read. */
  summary: CronSummary | undefined;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'State',
    width: '96px',
    cell: ({ cron, summary }) => (
      <>
        <CronState cron={cron} />
        {summary?.restsUntil != null && (
          <div className="soft">
            rests, until <Age at={summary.restsUntil} />
          </div>
        )}
      </>
    ),
  },
  {
    title: 'Cron',
    width: 'minmax(110px, 2fr)',
    cell: ({ cron: { id, name } }) => (
      <Link to="/crons/$id" params={{ id }}>
        <SafeText text={name} />
      </Link>
    ),
  },
  {
    title: 'Schedule',
    width: 'minmax(140px, 2fr)',
    cell: ({ cron: { schedule } }) => <span className="mono">{scheduleText(schedule)}</span>,
  },
  { title: 'Agent', width: 'minmax(70px, 1fr)', cell: ({ cron: { agentId } }) => agentId },
  { title: 'From', width: '68px', cell: ({ cron: { origin } }) => origin },
  { title: 'Next', width: '84px', cell: ({ cron, summary }) => <Next isEnabled={cron.enabled} summary={summary} /> },
  { title: 'Last fires', width: '136px', cell: ({ summary }) => summary && <FireStrip fires={summary.fires} /> },
  {
    title: 'Last cost',
    width: '124px',
    isNumber: true,
    cell: ({ summary }) => summary && <RunCost micros={summary.lastCost.costMicros} fires={summary.fires} isInColumn />,
  },
  {
    title: 'Month',
    width: '124px',
    isNumber: true,
    cell: ({ summary }) => summary && <RunCost micros={summary.month.costMicros} fires={summary.fires} isInColumn />,
  },
];

function Next({ isEnabled, summary }: { isEnabled: boolean; summary: CronSummary | undefined }): ReactElement {
  if (!isEnabled) return <span className="soft">not now</span>;
  return (
    <>
      {summary?.slots.length === 0 && <span className="soft">none</span>}
      {summary?.slots.map(({ slotAt, runAt }) => (
        <div key={slotAt}>
          <Age at={runAt} />
        </div>
      ))}
    </>
  );
}

export function Crons(): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const { agent, enabled, new: opened } = route.useSearch();
  const navigate = useNavigate({ from: '/crons' });
  const [isNewOpen, setNewOpen] = useState(opened !== undefined);
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
  const rows = useRows(list.data?.pages);
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
          idOf={({ cron }) => cron.id}
          onOpen={({ cron: { id } }) => void navigate({ to: '/crons/$id', params: { id } })}
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

/** The crons of the pages with their summaries: one request more for each page. */
function useRows(pages: readonly { items: readonly Cron[] }[] | undefined): Row[] {
  const lists = pages?.map(({ items }) => items).filter((items) => items.length > 0) ?? [];
  const summaries = useQueries({
    queries: lists.map((items) => {
      const ids = items.map(({ id }) => id);
      return { queryKey: ['crons', 'summaries', ids], queryFn: () => api.listCronSummaries({ ids }) };
    }),
    combine: (answers) =>
      new Map(answers.flatMap(({ data }) => data?.items ?? []).map((summary) => [summary.cronId, summary])),
  });
  return useMemo(
    () => pages?.flatMap(({ items }) => items).map((cron) => ({ cron, summary: summaries.get(cron.id) })) ?? [],
    [pages, summaries],
  );
}
