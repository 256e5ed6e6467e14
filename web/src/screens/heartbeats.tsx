// The polls of the agents: how often each is polled, and the outcomes of the last polls.
import { queryOptions, useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Heartbeat } from '../api.ts';
import { durationText } from '../format/time.ts';
import { me } from '../me.ts';
import { Age, Status } from '../parts/bits.tsx';
import type { Column } from '../parts/data-table.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { haveBegun } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { SessionLink } from '../parts/short-key.tsx';
import { TryAgent } from './try-dialog.tsx';

const COLUMNS: readonly Column<Heartbeat>[] = [
  { title: 'Status', width: '120px', cell: ({ status, result }) => <Status status={result ?? status} /> },
  { title: 'Agent', width: 'minmax(90px, 1fr)', cell: ({ agentId }) => agentId },
  {
    title: 'Session',
    width: 'minmax(140px, 2fr)',
    cell: ({ sessionKey }) => <SessionLink sessionKey={sessionKey} />,
  },
  { title: 'By', width: '80px', cell: ({ trigger }) => trigger },
  {
    title: 'Turn',
    width: '110px',
    cell: ({ turnId }) =>
      turnId === null ? (
        ''
      ) : (
        <Link to="/turns/$id" params={{ id: turnId }}>
          turn {turnId.slice(-6)}
        </Link>
      ),
  },
  {
    title: 'Why',
    width: 'minmax(160px, 3fr)',
    cell: ({ reason, detail }) => <SafeText text={[reason, detail].filter((text) => text !== null).join(': ')} />,
  },
  { title: 'Slot', width: '96px', cell: ({ scheduledFor }) => <Age at={scheduledFor} /> },
];

const POLLS: List<Heartbeat> = {
  title: 'Heartbeats',
  label: 'Polls',
  noun: 'poll',
  key: ['heartbeats'],
  read: ({ agent, status }, page, signal) =>
    api.listHeartbeats({ agent, status: status as Heartbeat['status'], ...page }, { signal }),
  columns: COLUMNS,
  filters: [
    { name: 'agent', title: 'Agent' },
    { name: 'status', title: 'Status', options: ['claimed', 'fired', 'skipped'] },
  ],
  idOf: ({ id }) => id,
  pathOf: ({ turnId }) => turnId && `/turns/${turnId}`,
  empty: {
    text: (
      <>
        There was no poll yet. An agent is polled when its configuration has <code>heartbeat.every</code>.
      </>
    ),
  },
};

const agentsQuery = queryOptions({ queryKey: ['agents'], queryFn: () => api.listAgents() });

export function Heartbeats(): ReactElement {
  // Shown together: agents that arrived later would move the polls.
  return <ListScreen list={POLLS} isReady={haveBegun(useQuery(agentsQuery))} above={<Agents />} />;
}

const GATES = { command: 'the output of its command', url: 'its web page', file: 'its file' } as const;

type Polls = Awaited<ReturnType<typeof api.listAgents>>['items'][number]['heartbeat'];

/** When it is polled, and what must have changed for the agent to be called. */
function limitsText({ activeHours, gate }: Polls): string {
  const hours =
    activeHours === null ? 'at any hour' : `${activeHours.start} to ${activeHours.end} (${activeHours.timezone})`;
  return gate === null ? hours : `${hours}, if ${GATES[gate]} has changed`;
}

/** Each agent with its interval, and the button that polls it. */
function Agents(): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const queries = useQueryClient();
  const agents = useQuery(agentsQuery);
  const [error, setError] = useState<unknown>(null);
  async function poll(agent: string): Promise<void> {
    setError(null);
    try {
      await api.pollAgent({ agent });
      await queries.invalidateQueries({ queryKey: ['heartbeats'] });
    } catch (cause) {
      setError(cause);
    }
  }
  return (
    <section className="panel" aria-labelledby="agents">
      <h2 id="agents">Agents</h2>
      <ul className="plain-list">
        {agents.data?.items.map(({ id, heartbeat }) => (
          <li key={id} className="row">
            <strong>{id}</strong>
            <span>{heartbeat.everyMs === 0 ? 'is not polled' : `every ${durationText(heartbeat.everyMs)}`}</span>
            {heartbeat.everyMs !== 0 && <span className="soft">{limitsText(heartbeat)}</span>}
            <span className="soft">alerts go to {heartbeat.target}</span>
            {who.role !== 'viewer' && (
              <>
                <button type="button" className="button" onClick={() => void poll(id)}>
                  Poll {id} now
                </button>
                <TryAgent agentId={id} />
              </>
            )}
          </li>
        ))}
      </ul>
      {agents.isError && <Problem error={agents.error} onRetry={() => void agents.refetch()} />}
      {error !== null && <Problem error={error} />}
    </section>
  );
}
