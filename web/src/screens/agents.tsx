// All agents: what answers for each, what it did and cost in a week, and whether it is paused.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { countText, namedCountText } from '../format/amounts.ts';
import { intervalText } from '../format/heartbeat.ts';
import { Cost, Status } from '../parts/bits.tsx';
import type { Column } from '../parts/data-table.tsx';
import { AgentLink } from '../parts/links.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { SafeText } from '../parts/safe-text.tsx';

type Agent = Awaited<ReturnType<typeof api.listAgents>>['items'][number];

/** What agents do and cost comes by no event of its own. */
const REREAD_MS = 60_000;

const COLUMNS: readonly Column<Agent>[] = [
  { title: 'Agent', width: 'minmax(100px, 1fr)', isClear: true, cell: ({ id }) => <AgentLink id={id} /> },
  {
    title: 'State',
    width: '84px',
    isClear: true,
    cell: ({ paused }) => <Status status={paused === null ? 'on' : 'paused'} />,
  },
  {
    title: 'Model',
    width: 'minmax(160px, 2fr)',
    cell: ({ model, fallbacks }) => (
      <>
        <SafeText text={model} />
        {fallbacks.length > 0 && <span className="soft"> and {namedCountText(fallbacks.length, 'fallback')}</span>}
      </>
    ),
  },
  {
    title: 'Sessions',
    width: '76px',
    isNumber: true,
    cell: ({ id, sessions }) => (
      <Link to="/sessions" search={{ agent: id }}>
        {countText(sessions.count)}
        {sessions.isCapped && '+'}
        <span className="hidden-visually"> sessions of {id}</span>
      </Link>
    ),
  },
  { title: 'Crons', width: '60px', isNumber: true, yields: true, cell: ({ crons }) => crons && countText(crons.total) },
  { title: 'Polled', width: '110px', yields: true, cell: ({ heartbeat }) => intervalText(heartbeat) },
  { title: 'Turns in 7 days', width: '110px', isNumber: true, cell: ({ week }) => countText(week.turns) },
  {
    title: 'Failed',
    width: '60px',
    isNumber: true,
    cell: ({ id, week }) =>
      week.failedTurns === 0 ? (
        '0'
      ) : (
        <Link to="/turns" search={{ agent: id, status: 'failed,timedOut', since: '7d' }}>
          {countText(week.failedTurns)}
          <span className="hidden-visually"> failed turns of {id}</span>
        </Link>
      ),
  },
  { title: 'Cost in 7 days', width: '110px', isNumber: true, cell: ({ week }) => <Cost of={week} isInColumn /> },
];

const AGENTS: List<Agent> = {
  title: 'Agents',
  noun: 'agent',
  key: ['agents', 'list'],
  read: (_search, _page, signal) => api.listAgents({}, { signal }),
  rereadMs: () => REREAD_MS,
  columns: COLUMNS,
  filters: [],
  idOf: ({ id }) => id,
  pathOf: ({ id }) => `/agents/${id}`,
  empty: { text: 'There is no agent. A key for some sessions sees no agents.' },
};

export function Agents(): ReactElement {
  return <ListScreen list={AGENTS} />;
}
