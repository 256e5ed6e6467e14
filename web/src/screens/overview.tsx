// Three questions in their order: does anything need me, is work flowing, and on what.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { useAttention } from '../attention.ts';
import { countText, namedCountText, usdText } from '../format/amounts.ts';
import { durationText } from '../format/time.ts';
import { readyQuery } from '../live/outage.ts';
import { Age, Chip, Status } from '../parts/bits.tsx';
import { KeyLink } from '../parts/links.tsx';
import { haveBegun, Loading } from '../parts/loading.tsx';
import { Panel, PlainTable, type PlainColumn } from '../parts/panel.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { WhyText } from '../parts/why-text.tsx';
import { TimeChart, tokenSeries } from '../parts/time-chart.tsx';
import { FirstSteps } from './first-steps.tsx';
import { AttentionList } from './attention-list.tsx';
import { FigureList, type Figures } from './overview-figures.tsx';

export function Overview(): ReactElement {
  const overview = useQuery({ queryKey: ['stats', 'overview'], queryFn: () => api.getOverview() });
  const hasBegun = haveBegun(overview, useAttention());
  const { data } = overview;
  if (data === undefined || !hasBegun) {
    return overview.isError ? <Problem error={overview.error} /> : <Loading />;
  }
  return (
    <>
      <h1>Overview</h1>
      <div className="attention">
        <Panel title="Needs attention">
          <AttentionList />
        </Panel>
        <Ground figures={data} />
      </div>
      <FirstSteps>
        <div className={overview.isError ? 'flow stale' : 'flow'}>
          <FigureList figures={data} />
          <LastHour figures={data} />
          <Lanes figures={data} />
        </div>
      </FirstSteps>
    </>
  );
}

function LastHour({ figures: { points, dayBefore } }: { figures: Figures }): ReactElement {
  const { startsAt, ends, failures } = points;
  const before = dayBefore.points;
  const shared = { span: 'last hour', times: startsAt };
  return (
    <div className="split">
      <TimeChart
        {...shared}
        title="Arrivals and ends"
        hasOneScale
        panes={[
          {
            text: countText,
            series: [{ name: 'Messages that arrived', values: points.arrivals, before: before.arrivals }],
          },
          {
            text: countText,
            series: [
              {
                name: 'Turns that ended well',
                values: ends.map((count, minute) => count - (failures[minute] ?? 0)),
                tone: 'second',
              },
              { name: 'Turns that failed', values: failures, tone: 'bad' },
            ],
          },
        ]}
      />
      <TimeChart
        {...shared}
        title="Age of the queue"
        panes={[
          {
            text: durationText,
            series: [{ name: 'Longest wait', values: points.oldestWaitMs, before: before.oldestWaitMs }],
          },
        ]}
      />
      <TimeChart
        {...shared}
        title="Tokens and cost"
        panes={[
          { text: countText, series: tokenSeries(points) },
          { text: usdText, series: [{ name: 'Cost', values: points.costUsd, before: before.costUsd }] },
        ]}
      />
    </div>
  );
}

type Lane = Figures['lanes'][number];

const LANE_COLUMNS: readonly PlainColumn<Lane>[] = [
  {
    title: 'Lane',
    className: 'nowrap',
    cell: ({ lane }) => (
      <Link to="/turns" search={{ lane }}>
        {lane}
      </Link>
    ),
  },
  {
    title: 'Waiting sessions',
    cell: ({ depth, parked }) => `${countText(depth)}${parked > 0 ? `, ${countText(parked)} parked` : ''}`,
  },
  {
    title: 'Oldest',
    className: 'nowrap',
    cell: ({ oldestAt }) => (oldestAt === null ? 'none' : <Age at={oldestAt} />),
  },
  {
    title: 'Why it waits',
    isClear: true,
    cell: ({ oldest }) =>
      oldest !== null && (
        <>
          <WhyText why={oldest.why} /> <KeyLink sessionKey={oldest.sessionKey} />
        </>
      ),
  },
  {
    title: 'Running turns',
    className: 'nowrap',
    cell: ({ running, slots }) => (
      <>
        {countText(running)} of {countText(slots)} {slots > 0 && running >= slots && <Status status="full" />}
      </>
    ),
  },
];

function Lanes({ figures: { lanes } }: { figures: Figures }): ReactElement {
  return (
    <Panel title="Lanes">
      <div className="scroll-x">
        <PlainTable columns={LANE_COLUMNS} rows={lanes} idOf={({ lane }) => lane} />
      </div>
    </Panel>
  );
}

/** What the work runs on: processes, the queue, the database and the providers of models. */
function Ground({ figures: { processes, providers, models } }: { figures: Figures }): ReactElement {
  const { data: ready } = useQuery(readyQuery);
  return (
    <div className="ground">
      <Panel title="Service">
        <ul className="states">
          <li>
            <Link to="/processes">Processes</Link>
            <span>
              {countText(processes.running)} running{' '}
              {processes.draining > 0 && <Status status={`${processes.draining} draining`} />}{' '}
              {processes.lost > 0 && <Chip tone="bad">{countText(processes.lost)} lost</Chip>}
            </span>
          </li>
          {ready?.dependencies.map(({ name, status, failedSince }) => (
            <li key={name}>
              <span>{name.charAt(0).toUpperCase() + name.slice(1)}</span>
              <span>
                {failedSince !== null && (
                  <>
                    since <Age at={failedSince} />{' '}
                  </>
                )}
                <Status status={status} />
              </span>
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title="Providers">
        {providers.length === 0 && <p className="soft">No model was called in the last hour.</p>}
        <ul className="states">
          {providers.map((each) => (
            <Provider key={each.provider} provider={each} models={models} />
          ))}
        </ul>
      </Panel>
    </div>
  );
}

interface ProviderProps {
  provider: Figures['providers'][number];
  models: Figures['models'];
}

/** A provider with its state and the reason of it, and the models that were called. */
function Provider({ provider, models }: ProviderProps): ReactElement {
  const { provider: name, state, until, text, calls, failures, inBatches } = provider;
  return (
    <li>
      <strong>
        <SafeText text={name} />
      </strong>
      <span>
        {callsText(calls, failures)}
        {inBatches > 0 && `, ${namedCountText(inBatches, 'turn')} in batches`} <Status status={state} />
      </span>
      {text !== null && (
        <p>
          {until !== null && (
            <>
              {state === 'limited' ? 'The first continues' : 'Called again'} <Age at={until} />.{' '}
            </>
          )}
          <SafeText text={text} /> <Link to="/waiting">What waits</Link>
        </p>
      )}
      <ul>
        {models
          .filter(({ model }) => model.startsWith(`${name}/`))
          .map((model) => (
            <li key={model.model}>
              <Link to="/turns" search={{ model: model.model }}>
                <SafeText text={model.model.slice(name.length + 1)} />
              </Link>{' '}
              <span className="soft">
                {callsText(model.calls, model.failures)}
                {model.blockedUntil !== null && ', not called now'}
              </span>
            </li>
          ))}
      </ul>
    </li>
  );
}

const callsText = (calls: number, failures: number): string =>
  `${namedCountText(calls, 'call')}${failures > 0 ? `, ${countText(failures)} failed` : ''}`;
