// Three questions in their order: does anything need me, is work flowing, and on what.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { useAttention } from '../attention.ts';
import { countText, namedCountText, usdText } from '../format/amounts.ts';
import { durationText } from '../format/time.ts';
import { readyQuery } from '../live/outage.ts';
import { Age, Status } from '../parts/bits.tsx';
import { haveBegun, Loading } from '../parts/loading.tsx';
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
      <section className="panel" aria-labelledby="attention">
        <h2 id="attention">Needs attention</h2>
        <AttentionList />
      </section>
      <FirstSteps>
        <div className={overview.isError ? 'flow stale' : 'flow'}>
          <h2>Work</h2>
          <FigureList figures={data} />
          <LastHour figures={data} />
          <Lanes figures={data} />
          <Ground figures={data} />
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

function Lanes({ figures: { lanes } }: { figures: Figures }): ReactElement {
  return (
    <section className="panel" aria-labelledby="lanes">
      <h2 id="lanes">Lanes</h2>
      <div className="scroll-x">
        <table className="plain cards">
          <thead>
            <tr>
              <th scope="col">Lane</th>
              <th scope="col">Waiting sessions</th>
              <th scope="col">Oldest</th>
              <th scope="col">Why it waits</th>
              <th scope="col">Running turns</th>
            </tr>
          </thead>
          <tbody>
            {lanes.map(({ lane, depth, parked, oldestAt, oldest, running, slots }) => (
              <tr key={lane}>
                <td>
                  <Link to="/turns" search={{ lane }}>
                    {lane}
                  </Link>
                </td>
                <td data-label="Waiting sessions">
                  {countText(depth)}
                  {parked > 0 && `, ${countText(parked)} parked`}
                </td>
                <td data-label="Oldest">{oldestAt === null ? 'none' : <Age at={oldestAt} />}</td>
                <td>{oldest !== null && <WhyFirst {...oldest} />}</td>
                <td data-label="Running turns">
                  {countText(running)}
                  of {countText(slots)} {slots > 0 && running >= slots && <Status status="full" />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** What the work runs on: processes, models, the queue and the database. */
function Ground({ figures: { processes, models } }: { figures: Figures }): ReactElement {
  const { data: ready } = useQuery(readyQuery);
  return (
    <div className="split">
      <section className="panel" aria-labelledby="parts">
        <h2 id="parts">Service</h2>
        <ul className="states">
          <li>
            <Link to="/processes">Processes</Link>
            <span>
              {countText(processes.running)} running{' '}
              {processes.draining > 0 && <Status status={`${processes.draining} draining`} />}{' '}
              {processes.lost > 0 && (
                <span className="chip" data-tone="bad">
                  {countText(processes.lost)} lost
                </span>
              )}
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
      </section>
      <section className="panel" aria-labelledby="models">
        <h2 id="models">Models</h2>
        {models.length === 0 && <p className="soft">No model was called in the last hour.</p>}
        <ul className="states">
          {models.map(({ model, calls, failures, blockedUntil }) => (
            <li key={model}>
              <Link to="/turns" search={{ model }}>
                <SafeText text={model} />
              </Link>
              <span>
                {namedCountText(calls, 'call')}
                {failures > 0 && `, ${countText(failures)} failed`}{' '}
                {blockedUntil === null ? (
                  <Status status="ok" />
                ) : (
                  <Link to="/waiting">
                    blocked, tested <Age at={blockedUntil} />
                  </Link>
                )}
              </span>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

/** Why the message that waits longest in a lane does so. */
function WhyFirst({ sessionKey, why }: NonNullable<Figures['lanes'][number]['oldest']>): ReactElement {
  return (
    <>
      <WhyText why={why} />{' '}
      <Link to="/sessions/$key" params={{ key: sessionKey }}>
        <SafeText text={sessionKey} />
      </Link>
    </>
  );
}
