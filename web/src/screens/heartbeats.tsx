// The polls of the agents: how often each is polled, and the outcomes of the last polls.
import { queryOptions, useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api, type Heartbeat } from '../api.ts';
import { intervalText, pollText } from '../format/heartbeat.ts';
import { useCanAct } from '../me.ts';
import { Age, Status } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { useActions } from '../parts/use-actions.tsx';
import type { Column } from '../parts/data-table.tsx';
import { AgentLink, TurnLink } from '../parts/links.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { Fault, haveBegun } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { SessionLink } from '../parts/short-key.tsx';

const TRIGGERS = { interval: 'its interval', manual: 'a request' } as const;

const COLUMNS: readonly Column<Heartbeat>[] = [
  { title: 'Status', width: '120px', cell: ({ status, result }) => <Status status={result ?? status} /> },
  { title: 'Agent', width: 'minmax(90px, 1fr)', cell: ({ agentId }) => agentId },
  {
    title: 'Session',
    width: 'minmax(140px, 2fr)',
    cell: ({ sessionKey }) => <SessionLink sessionKey={sessionKey} />,
  },
  { title: 'Started by', width: '100px', cell: ({ trigger }) => TRIGGERS[trigger] },
  { title: 'Turn', width: '110px', cell: ({ turnId }) => turnId !== null && <TurnLink id={turnId} /> },
  {
    title: 'Reason',
    width: 'minmax(160px, 3fr)',
    cell: ({ reason, detail }) => <SafeText text={[reason, detail].filter((text) => text !== null).join(': ')} />,
  },
  { title: 'When', width: '96px', cell: ({ scheduledFor }) => <Age at={scheduledFor} /> },
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
    { name: 'agent', title: 'Agent', options: 'agents' },
    { name: 'status', title: 'Status', options: CHOICES.listHeartbeats.status },
  ],
  idOf: ({ id }) => id,
  pathOf: ({ turnId }) => turnId && `/turns/${turnId}`,
  empty: {
    text: (
      <>
        There was no poll yet. Set <code>heartbeat.every</code> of an agent in the configuration, or poll one above.
      </>
    ),
  },
};

const agentsQuery = queryOptions({ queryKey: ['agents'], queryFn: () => api.listAgents() });

export function Heartbeats(): ReactElement {
  // Shown together: agents that arrived later would move the polls.
  return <ListScreen list={POLLS} isReady={haveBegun(useQuery(agentsQuery))} above={<Agents />} />;
}

/** Each agent with its interval, and the button that polls it. */
function Agents(): ReactElement {
  const canAct = useCanAct();
  const agents = useQuery(agentsQuery);
  const { act, problem } = useActions('heartbeats');
  return (
    <Panel title="Agents">
      <ul className="states">
        {agents.data?.items.map(({ id, heartbeat }) => (
          <li key={id}>
            <strong>
              <AgentLink id={id} />
            </strong>
            <span className="grow">
              {intervalText(heartbeat)} <span className="soft">{pollText(heartbeat)}</span>
            </span>
            {canAct && <Button onClick={() => act(() => api.pollAgent({ agent: id }))}>Poll {id} now</Button>}
          </li>
        ))}
      </ul>
      <Fault query={agents} />
      {problem}
    </Panel>
  );
}
