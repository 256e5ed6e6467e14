// One agent: what it did and cost by day, its settings, its instructions with their versions, its
// tools with what decides about each, and all that belongs to it.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import { api } from '../api.ts';
import { countText, dollarsText, namedCountText, percentText } from '../format/amounts.ts';
import { intervalText, pollText } from '../format/heartbeat.ts';
import { scheduleText } from '../format/schedule.ts';
import { stepsOf } from '../format/spend.ts';
import { durationText } from '../format/time.ts';
import { useCanAct } from '../me.ts';
import { Age, Chip, Cost, Facts, Figure, Status } from '../parts/bits.tsx';
import { CronState } from '../parts/cron-state.tsx';
import { TurnLink } from '../parts/links.tsx';
import { NoData } from '../parts/loading.tsx';
import { Panel, PlainTable, type PlainColumn } from '../parts/panel.tsx';
import { LongText, SafeText } from '../parts/safe-text.tsx';
import { useFirst } from '../parts/show-more.tsx';
import { TimeChart } from '../parts/time-chart.tsx';
import { useSettings } from '../settings.tsx';
import { BudgetLine } from './budgets.tsx';
import { PauseList, PauseWork } from './pauses.tsx';
import { TryAgent } from './try-dialog.tsx';

const route = getRouteApi('/app/agents/$id');

type Agent = Awaited<ReturnType<typeof api.getAgent>>;
type Of<Name extends keyof Agent> = Agent[Name] extends readonly (infer Item)[] ? Item : Agent[Name];

const DAY_MS = 86_400_000;
/** The service answers for today and the six days before. */
const DAYS = 7;
const SPAN = 'last 7 days, in UTC';
/** What an agent does comes by no event of its own. */
const REREAD_MS = 60_000;
const HASH_CHARS = 8;

export function AgentScreen(): ReactElement {
  const { id } = route.useParams();
  const { isLive } = useSettings();
  const agent = useQuery({
    queryKey: ['agents', id],
    queryFn: () => api.getAgent({ agent: id }),
    refetchInterval: isLive ? REREAD_MS : false,
  });
  if (agent.data === undefined)
    return (
      <>
        <h1>Agent</h1>
        <NoData query={agent} />
      </>
    );
  return <KnownAgent agent={agent.data} />;
}

function KnownAgent({ agent }: { agent: Agent }): ReactElement {
  const { id, paused } = agent;
  return (
    <>
      <div className="row">
        <h1>
          <SafeText text={id} />
        </h1>
        {paused !== null && <Status status="paused" />}
        {useCanAct() && <TryAgent agentId={id} />}
        {paused === null && <PauseWork of={{ agent: id }}>Pause agent…</PauseWork>}
      </div>
      <PauseList items={paused === null ? [] : [paused]} />
      <Week agent={agent} />
      <Charts days={agent.days} />
      <Failures failures={agent.lastFailures} />
      <Settings agent={agent} />
      <Belongings agent={agent} />
      <Instructions files={agent.instructions} />
      <Tools tools={agent.toolList} />
    </>
  );
}

function Week({ agent: { id, week, sessions } }: { agent: Agent }): ReactElement {
  return (
    <dl className="figures">
      <Figure name="Turns" note={SPAN}>
        <Link to="/turns" search={{ agent: id }}>
          {countText(week.turns)}
        </Link>
      </Figure>
      <Figure name="Failed" note={percentText(week.failedTurns, week.turns)}>
        {countText(week.failedTurns)}
      </Figure>
      <Figure name="Cost" note={namedCountText(week.calls, 'model call')}>
        <Cost of={week} />
      </Figure>
      <Figure name="A turn takes" note="on average">
        {meanText(week.turnMs, week.turns)}
      </Figure>
      <Figure name="A turn waits" note="on average">
        {meanText(week.waitMs, week.turns)}
      </Figure>
      <Figure name="Sessions">
        <Link to="/sessions" search={{ agent: id }}>
          {countText(sessions.count)}
          {sessions.isCapped && '+'}
        </Link>
      </Figure>
    </dl>
  );
}

const meanText = (ms: number, turns: number): string => (turns === 0 ? 'none yet' : durationText(ms / turns));

function Charts({ days }: Pick<Agent, 'days'>): ReactElement {
  const times = stepsOf(DAY_MS, DAYS, days);
  const dayAt = new Map(days.map((day) => [day.startsAt, day]));
  const meansOf = (name: 'waitMs' | 'turnMs'): (number | null)[] =>
    times.map((time) => {
      const day = dayAt.get(time);
      return day === undefined || day.turns === 0 ? null : day[name] / day.turns;
    });
  return (
    <div className="split">
      <TimeChart
        title="Cost"
        span={SPAN}
        times={times}
        panes={[
          {
            text: dollarsText,
            series: [{ name: 'Cost', values: times.map((time) => dayAt.get(time)?.costMicros ?? 0) }],
          },
        ]}
      />
      <TimeChart
        title="Latency of a turn, on average"
        span={SPAN}
        times={times}
        panes={[
          {
            text: durationText,
            series: [
              { name: 'Runs', values: meansOf('turnMs') },
              { name: 'Waits before', values: meansOf('waitMs'), tone: 'second' },
            ],
          },
        ]}
      />
    </div>
  );
}

function Settings({ agent }: { agent: Agent }): ReactElement {
  const { model, fallbacks, thinking, promptMode, workspace, heartbeat, channels } = agent;
  return (
    <Panel title="Settings">
      <Facts
        facts={{
          Model: <SafeText text={model} />,
          Fallbacks: fallbacks.length > 0 && <SafeText text={fallbacks.join(', ')} />,
          Thinking: thinking,
          'System prompt': promptMode,
          Workspace: workspace !== null && <SafeText text={workspace} />,
          Polled: (
            <Link to="/heartbeats" search={{ agent: agent.id }}>
              {intervalText(heartbeat)}, {pollText(heartbeat)}
            </Link>
          ),
          Chats: <Chats channels={channels} />,
        }}
      />
    </Panel>
  );
}

function Chats({ channels: { isDefault, bindings } }: Pick<Agent, 'channels'>): ReactElement {
  const { first, more } = useFirst(bindings);
  if (bindings.length === 0) return <>{isDefault ? 'all that no binding matches' : 'none'}</>;
  return (
    <>
      <ul className="plain-list">
        {first.map(({ index, match }) => (
          <li key={index}>
            <SafeText text={Object.entries(match).flat().join(' ')} />
          </li>
        ))}
        {isDefault && <li>all others that no binding matches</li>}
      </ul>
      {more}
    </>
  );
}

const FAILURES: readonly PlainColumn<Of<'lastFailures'>>[] = [
  { title: 'Turn', cell: ({ turnId, title }) => <TitledTurn id={turnId} title={title} /> },
  {
    title: 'Session',
    cell: ({ sessionKey, sessionTitle }) => (
      <Link to="/sessions/$key" params={{ key: sessionKey }} title={sessionKey}>
        <SafeText text={sessionTitle} />
      </Link>
    ),
  },
  {
    title: 'Why',
    cell: ({ code, text }) => (
      <>
        <Chip tone="bad">{code}</Chip> <SafeText text={text} />
      </>
    ),
  },
  { title: 'Since', className: 'nowrap', cell: ({ since }) => <Age at={since} /> },
  { title: 'What to do next', cell: ({ nextStep }) => nextStep },
];

function TitledTurn({ id, title }: { id: string; title: string }): ReactElement {
  return (
    <Link to="/turns/$id" params={{ id }}>
      <SafeText text={title} />
    </Link>
  );
}

function Failures({ failures }: { failures: Agent['lastFailures'] }): ReactElement | null {
  if (failures.length === 0) return null;
  return (
    <Panel title="Last failures" className="scroll-x" tabIndex={0}>
      <PlainTable columns={FAILURES} rows={failures} idOf={({ turnId }) => turnId} />
    </Panel>
  );
}

type Version = Of<'instructions'>['versions'][number];

const VERSIONS: readonly PlainColumn<Version>[] = [
  { title: 'Hash', cell: ({ sha256 }) => <span className="mono">{sha256.slice(0, HASH_CHARS)}</span> },
  { title: 'Characters', isNumber: true, cell: ({ chars }) => countText(chars) },
  { title: 'First seen', cell: ({ since }) => <Age at={since} /> },
  { title: 'Last seen', cell: ({ until }) => <Age at={until} /> },
  { title: 'Last turn', cell: ({ turnId }) => (turnId === null ? '' : <TurnLink id={turnId} />) },
];

/** The files as prompts had them: what is in the workspace now, the next turn reads. */
function Instructions({ files }: { files: Agent['instructions'] }): ReactElement {
  const read = files.filter(({ text }) => text !== null);
  return (
    <Panel title="Instructions">
      {read.length === 0 && <p className="soft">No turn had a file of the workspace in its prompt.</p>}
      {read.map(({ name, text, versions }) => (
        <details key={name}>
          <summary>
            <span className="mono">{name}</span>{' '}
            <span className="soft">
              {namedCountText(text?.length ?? 0, 'character')}, {namedCountText(versions.length, 'version')}
            </span>
          </summary>
          <LongText text={text ?? ''} />
          <PlainTable
            caption={`Versions of ${name}`}
            columns={VERSIONS}
            rows={versions}
            idOf={({ sha256 }) => sha256}
          />
        </details>
      ))}
    </Panel>
  );
}

const TOOLS: readonly PlainColumn<Of<'toolList'>>[] = [
  {
    title: 'Tool',
    cell: ({ name }) => (
      <span className="mono">
        <SafeText text={name} />
      </span>
    ),
  },
  {
    title: 'From',
    cell: ({ origin, server }) => <SafeText text={server === null ? origin : `${origin} ${server}`} />,
  },
  {
    title: 'Policy',
    cell: ({ isAllowed, because }) =>
      isAllowed ? (
        'allowed'
      ) : (
        <>
          <Chip tone="warn">left out</Chip> <SafeText text={because ?? ''} />
        </>
      ),
  },
  { title: 'Approval', cell: ({ approval }) => approval ?? 'no' },
  {
    title: 'In the newest turn',
    cell: ({ isOffered }) => (isOffered === null ? 'no turn yet' : isOffered ? 'yes' : 'no'),
  },
];

function Tools({ tools }: { tools: Agent['toolList'] }): ReactElement {
  const { first, more } = useFirst(tools);
  return (
    <Panel title="Tools" className="scroll-x" tabIndex={0}>
      <PlainTable columns={TOOLS} rows={first} idOf={({ name }) => name} />
      {more}
    </Panel>
  );
}

/** MCP servers, crons and budgets: each with the way to its screen. */
function Belongings({ agent: { id, mcpServers, cronList, budgets } }: { agent: Agent }): ReactElement {
  return (
    <div className="split">
      <Linked
        title="MCP servers"
        all={
          <Link to="/settings" search={{ tab: 'mcp' }}>
            All servers
          </Link>
        }
      >
        {mcpServers.map(({ name, state, toolCount }) => (
          <li key={name} className="row">
            <Status status={state} />
            <SafeText text={name} />
            <span className="soft">{namedCountText(toolCount, 'tool')}</span>
          </li>
        ))}
      </Linked>
      <Linked
        title="Crons"
        all={
          <Link to="/crons" search={{ agent: id }}>
            All its crons
          </Link>
        }
      >
        {cronList.map((cron) => (
          <li key={cron.id} className="row">
            <CronState cron={cron} />
            <Link to="/crons/$id" params={{ id: cron.id }}>
              <SafeText text={cron.name} />
            </Link>
            <span className="soft mono">{scheduleText(cron.schedule)}</span>
          </li>
        ))}
      </Linked>
      <Linked title="Budgets" all={<Link to="/costs">Costs</Link>}>
        {budgets.map((budget) => (
          <li key={budget.id} className="row">
            <BudgetLine budget={budget} />
          </li>
        ))}
      </Linked>
    </div>
  );
}

function Linked({ title, all, children }: { title: string; all: ReactNode; children: ReactNode[] }): ReactElement {
  return (
    <Panel title={title} buttons={<span className="end">{all}</span>}>
      {children.length === 0 ? <p className="soft">None.</p> : <ul className="plain-list">{children}</ul>}
    </Panel>
  );
}
