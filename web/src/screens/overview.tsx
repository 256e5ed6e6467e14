// How the service is: what waits, what runs, what it costs, what is broken.
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { countText, dollarsText, percentText } from '../format/amounts.ts';
import { durationText } from '../format/time.ts';
import { me } from '../me.ts';
import { Age, Figure, Status } from '../parts/bits.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { MinuteChart, type Minute } from '../parts/minute-chart.tsx';
import { Problem } from '../parts/problem.tsx';

const HOUR_MS = 3_600_000;

export function Overview(): ReactElement {
  const stats = useQuery({ queryKey: ['stats'], queryFn: () => api.getStats() });
  const hour = useQuery({
    queryKey: ['stats', 'hour'],
    queryFn: () => api.getUsage({ by: 'minute', from: new Date(Date.now() - HOUR_MS).toISOString() }),
  });
  const day = useQuery({
    queryKey: ['stats', 'day'],
    queryFn: () => api.getUsage({ by: 'day', from: new Date(new Date().setUTCHours(0, 0, 0, 0)).toISOString() }),
  });
  const ready = useQuery({ queryKey: ['ready'], queryFn: () => api.getReadiness(), retry: false });
  const { data } = stats;
  if (data === undefined) return stats.isError ? <Problem error={stats.error} /> : <p className="soft">Loading…</p>;
  const minutes = hour.data?.items ?? [];
  return (
    <>
      <h1>Overview</h1>
      <div className={stats.isError ? 'stale' : undefined}>
        <Figures stats={data} minutes={minutes} today={day.data?.items.at(-1)} />
      </div>
      <section className="panel" aria-labelledby="attention">
        <h2 id="attention">Needs attention</h2>
        <Attention
          deadLetters={data.deadLetters}
          failedDeliveries={data.deliveries['failed'] ?? 0}
          ready={ready.data}
        />
      </section>
      <div className="split">
        <MinuteChart title="Turns per minute" minutes={minutes} value={({ turns: count }) => count} text={countText} />
        <MinuteChart
          title="Failed turns per minute"
          minutes={minutes}
          value={({ failedTurns }) => failedTurns}
          text={countText}
          tone="bad"
        />
        <MinuteChart
          title="Cost per minute"
          minutes={minutes}
          value={({ costMicros }) => costMicros ?? 0}
          text={dollarsText}
        />
      </div>
      <Workers />
      <section className="panel" aria-labelledby="lanes">
        <h2 id="lanes">Lanes</h2>
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Lane</th>
              <th scope="col">Sessions that wait</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(data.queueDepth).map(([lane, depth]) => (
              <tr key={lane}>
                <td>{lane}</td>
                <td>{countText(depth)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

type Stats = Awaited<ReturnType<typeof api.getStats>>;
type Used = Awaited<ReturnType<typeof api.getUsage>>['items'][number];

function Figures(props: { stats: Stats; minutes: readonly Minute[]; today: Used | undefined }): ReactElement {
  const { stats: data, minutes, today } = props;
  const turns = minutes.reduce((sum, minute) => sum + minute.turns, 0);
  const failed = minutes.reduce((sum, minute) => sum + minute.failedTurns, 0);
  const cached = today === undefined ? 0 : today.cacheReadTokens;
  return (
    <dl className="figures">
      <Figure
        name="Messages that wait"
        note={
          data.oldestWaitMs === null || data.messages['waiting'] === undefined
            ? 'none'
            : `oldest ${durationText(data.oldestWaitMs)}`
        }
      >
        <Link to="/waiting">{countText(data.messages['waiting'] ?? 0)}</Link>
      </Figure>
      <Figure name="Turns that run" note={`${data.turns['parked'] ?? 0} parked`}>
        <Link to="/turns" search={{ status: 'running' }}>
          {countText(data.turns['running'] ?? 0)}
        </Link>
      </Figure>
      <Figure name="Turns in the last hour" note={`${(turns / 60).toFixed(1)} per minute`}>
        {countText(turns)}
      </Figure>
      <Figure name="Failed in the last hour" note={percentText(failed, turns)}>
        <Link to="/turns" search={{ status: 'failed' }}>
          {countText(failed)}
        </Link>
      </Figure>
      <Figure name="Cost today (UTC)" note={`${countText(today?.calls ?? 0)} calls`}>
        {dollarsText(today === undefined ? 0 : today.costMicros)}
      </Figure>
      <Figure name="Input from the cache, today">{percentText(cached, cached + (today?.inputTokens ?? 0))}</Figure>
      <Figure name="Sessions" note={`${data.liveLocks} held by workers`}>
        <Link to="/sessions">{countText(data.sessions)}</Link>
      </Figure>
      <Figure name="Dead letters">
        <Link to="/dead-letters">{countText(data.deadLetters)}</Link>
      </Figure>
    </dl>
  );
}

function Attention(props: {
  deadLetters: number;
  failedDeliveries: number;
  ready: { status: string; dependencies: { name: string; status: string; error: string | null }[] } | undefined;
}): ReactElement {
  const { deadLetters, failedDeliveries, ready } = props;
  const away = ready?.dependencies.filter(({ status }) => status !== 'ok') ?? [];
  if (deadLetters === 0 && failedDeliveries === 0 && away.length === 0) {
    return (
      <p>
        <Status status="ok" /> Nothing.
      </p>
    );
  }
  return (
    <ul>
      {away.map(({ name, error }) => (
        <li key={name}>
          <Status status="failed" /> The {name} does not answer{error === null ? '' : `: ${error}`}.
        </li>
      ))}
      {deadLetters > 0 && (
        <li>
          <Link to="/dead-letters">{countText(deadLetters)} dead letters</Link> wait for a decision.
        </li>
      )}
      {failedDeliveries > 0 && <li>{countText(failedDeliveries)} deliveries have failed.</li>}
    </ul>
  );
}

const WORKERS_SHOWN = 50;

/** The processes of the service, and a way to let one finish its work and stop. */
function Workers(): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const list = useQuery({
    queryKey: ['stats', 'workers'],
    queryFn: () => api.listWorkers({ limit: WORKERS_SHOWN }),
    refetchInterval: 5_000,
  });
  const [drained, setDrained] = useState<{ id: string; name: string } | null>(null);
  return (
    <section className="panel" aria-labelledby="workers">
      <h2 id="workers">Processes</h2>
      <div className="scroll-x">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Process</th>
              <th scope="col">Roles</th>
              <th scope="col">Slots in use</th>
              <th scope="col">Version</th>
              <th scope="col">Seen</th>
              <th scope="col">
                <span className="hidden-visually">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {list.data?.items.map((worker) => (
              <tr key={worker.id}>
                <td>
                  <Status status={worker.state} />
                </td>
                <td className="mono">
                  {worker.host}:{worker.pid}
                </td>
                <td>{worker.roles.join(', ')}</td>
                <td>
                  {Object.entries(worker.lanes)
                    .map(([lane, { slots, inUse }]) => `${lane} ${inUse}/${slots}`)
                    .join(', ')}
                </td>
                <td>{worker.version}</td>
                <td>
                  <Age at={worker.seenAt} />
                </td>
                <td>
                  {who.role !== 'viewer' && worker.state === 'running' && (
                    <button type="button" className="button" onClick={() => setDrained(worker)}>
                      Drain…
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {drained !== null && (
        <Confirm
          title={`Drain ${drained.name}?`}
          verb="Drain the process"
          onClose={() => setDrained(null)}
          perform={() => api.drainWorker({ id: drained.id })}
        >
          <p>It begins nothing new, finishes its step, and ends. Other processes take over its turns.</p>
        </Confirm>
      )}
    </section>
  );
}
