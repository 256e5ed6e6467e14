// All crons: when they run next, how their last fires went, and what they cost.
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Cron, type CronSummary } from '../api.ts';
import { scheduleText } from '../format/schedule.ts';
import { Age } from '../parts/bits.tsx';
import { CronState, RunCost } from '../parts/cron-state.tsx';
import type { Column } from '../parts/data-table.tsx';
import { FireStrip } from '../parts/fire-strip.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { CronForm } from './cron-form.tsx';

interface Row {
  cron: Cron;
  /** Absent: the cron was deleted meanwhile. */
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

const CRONS: List<Row> = {
  title: 'Crons',
  noun: 'cron',
  key: ['crons', 'list'],
  async read({ agent, enabled }, page, signal) {
    const isEnabled = enabled === undefined ? undefined : enabled === 'yes';
    const { items, nextCursor } = await api.listCrons({ agent, enabled: isEnabled, ...page }, { signal });
    const ids = items.map(({ id }) => id);
    const summaries = ids.length === 0 ? [] : (await api.listCronSummaries({ ids }, { signal })).items;
    const byId = new Map(summaries.map((summary) => [summary.cronId, summary]));
    return { items: items.map((cron) => ({ cron, summary: byId.get(cron.id) })), nextCursor };
  },
  columns: COLUMNS,
  filters: [
    { name: 'agent', title: 'Agent' },
    { name: 'enabled', title: 'Fires', options: ['yes', 'no'] },
  ],
  idOf: ({ cron }) => cron.id,
  pathOf: ({ cron }) => `/crons/${cron.id}`,
  empty: {
    text: 'There is no cron yet. A cron lets an agent run by the clock.',
    command: 'npx holdfast cron add morning --cron "0 9 * * 1-5" --message "What is new?"',
  },
};

export function Crons(): ReactElement {
  const { new: opened } = useSearch({ from: '/app/crons' });
  const navigate = useNavigate();
  const [isNewOpen, setNewOpen] = useState(opened !== undefined);
  return (
    <ListScreen
      list={CRONS}
      buttons={
        <button type="button" className="button" data-tone="main" onClick={() => setNewOpen(true)}>
          New cron…
        </button>
      }
    >
      {isNewOpen && (
        <CronForm
          onClose={() => setNewOpen(false)}
          onSaved={({ id }) => void navigate({ to: '/crons/$id', params: { id } })}
        />
      )}
    </ListScreen>
  );
}
