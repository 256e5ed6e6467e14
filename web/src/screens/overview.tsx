// The state of the service: waiting and running work, spending, and problems that need an operator.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { useAttention } from '../attention.ts';
import { countText, usdText } from '../format/amounts.ts';
import { durationText } from '../format/time.ts';
import { Age, Status } from '../parts/bits.tsx';
import { haveBegun, Loading } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { WhyText } from '../parts/why-text.tsx';
import { TimeChart, tokenSeries } from '../parts/time-chart.tsx';
import { FirstSteps } from './first-steps.tsx';
import { AttentionList } from './attention-list.tsx';
import { FigureList, type Figures } from './overview-figures.tsx';
import { useWorkers } from './processes.tsx';

export function Overview(): ReactElement {
  const overview = useQuery({ queryKey: ['stats', 'overview'], queryFn: () => api.getOverview() });
  const hasBegun = haveBegun(overview, useAttention(), useWorkers());
  const { data } = overview;
  if (data === undefined || !hasBegun) {
    return overview.isError ? <Problem error={overview.error} /> : <Loading />;
  }
  return (
    <>
      <h1>Overview</h1>
      <FirstSteps />
      <div className={overview.isError ? 'stale' : undefined}>
        <FigureList figures={data} />
      </div>
      <section className="panel" aria-labelledby="attention">
        <h2 id="attention">Needs attention</h2>
        <AttentionList />
      </section>
      <LastHour points={data.points} />
      <Lanes figures={data} />
    </>
  );
}

function LastHour({ points }: { points: Figures['points'] }): ReactElement {
  const { startsAt, ends, failures } = points;
  const shared = { span: 'last hour', times: startsAt };
  return (
    <div className="split">
      <TimeChart
        {...shared}
        title="Arrivals and ends"
        hasOneScale
        panes={[
          { text: countText, series: [{ name: 'Messages that arrived', values: points.arrivals }] },
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
        panes={[{ text: durationText, series: [{ name: 'Longest wait', values: points.oldestWaitMs }] }]}
      />
      <TimeChart
        {...shared}
        title="Tokens and cost"
        panes={[
          { text: countText, series: tokenSeries(points) },
          { text: usdText, series: [{ name: 'Cost', values: points.costUsd }] },
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
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Lane</th>
              <th scope="col">Sessions that wait</th>
              <th scope="col">The oldest</th>
              <th scope="col">Why it waits</th>
              <th scope="col">Turns that run</th>
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
                <td>
                  {countText(depth)}
                  {parked > 0 && `, ${countText(parked)} parked`}
                </td>
                <td>{oldestAt === null ? 'none' : <Age at={oldestAt} />}</td>
                <td>{oldest !== null && <WhyFirst {...oldest} />}</td>
                <td>
                  {countText(running)}
                  {slots !== null && ` of ${slots}`} {slots !== null && running >= slots && <Status status="full" />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
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
