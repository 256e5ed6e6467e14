// All crons: when they run next, how their last runs ended, and what they cost.
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api, type Cron, type CronSummary } from '../api.ts';
import { scheduleText } from '../format/schedule.ts';
import { Age } from '../parts/bits.tsx';
import { CronState, ORIGINS, RunCost } from '../parts/cron-state.tsx';
import type { Column } from '../parts/data-table.tsx';
import { DialogButton } from '../parts/dialog-button.tsx';
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

const costColumn = (title: string, of: 'lastCost' | 'month'): Column<Row> => ({
  title,
  width: title === 'Last cost' ? '84px' : '118px',
  isNumber: true,
  cell: ({ summary }) => summary && <RunCost micros={summary[of].costMicros} fires={summary.fires} isInColumn />,
});

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'State',
    width: '96px',
    cell: ({ cron, summary }) => (
      <>
        <CronState cron={cron} />
        {summary?.restsUntil != null && (
          <div className="soft">
            again <Age at={summary.restsUntil} />
          </div>
        )}
      </>
    ),
  },
  {
    title: 'Cron',
    width: 'minmax(130px, 1.3fr)',
    cell: ({ cron: { id, name } }) => (
      <Link to="/crons/$id" params={{ id }}>
        <SafeText text={name} />
      </Link>
    ),
  },
  {
    title: 'Schedule',
    width: 'minmax(170px, 1.6fr)',
    cell: ({ cron: { schedule } }) => <span className="mono">{scheduleText(schedule)}</span>,
  },
  { title: 'Agent', width: 'minmax(64px, 0.7fr)', cell: ({ cron: { agentId } }) => agentId },
  { title: 'Created by', width: '96px', cell: ({ cron: { origin } }) => ORIGINS[origin] },
  {
    title: 'Next runs',
    width: '84px',
    cell: ({ cron, summary }) =>
      summary === undefined || summary.slots.length === 0 ? (
        <span className="soft">{cron.enabled ? 'none' : 'paused'}</span>
      ) : (
        summary.slots.map(({ slotAt, runAt }) => (
          <div key={slotAt}>
            <Age at={runAt} />
          </div>
        ))
      ),
  },
  { title: 'Last runs', width: '150px', cell: ({ summary }) => summary && <FireStrip fires={summary.fires} /> },
  costColumn('Last cost', 'lastCost'),
  costColumn('Month, estimated', 'month'),
];

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
    { name: 'agent', title: 'Agent', options: 'agents' },
    { name: 'enabled', title: 'Enabled', options: ['yes', 'no'] },
  ],
  idOf: ({ cron }) => cron.id,
  pathOf: ({ cron }) => `/crons/${cron.id}`,
  empty: {
    text: 'There is no cron yet. A cron runs an agent on a schedule. Add one with the button above, or with this command:',
    command: 'npx holdfast cron add --name morning --cron "0 9 * * 1-5" --message "What is new?"',
  },
};

export function Crons(): ReactElement {
  const { new: opened } = useSearch({ from: '/app/crons' });
  const navigate = useNavigate();
  const show = ({ id }: Cron): void => void navigate({ to: '/crons/$id', params: { id } });
  const button = (
    <DialogButton
      tone="main"
      isOpenAtFirst={opened !== undefined}
      dialog={(close) => <CronForm onClose={close} onSaved={show} />}
    >
      Add a cron…
    </DialogButton>
  );
  return <ListScreen list={CRONS} buttons={button} />;
}
