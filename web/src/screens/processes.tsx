// The processes of the service: what each runs right now, how it feels, and ways to let one stop or to pause work.
import { queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { bytesText } from '../format/amounts.ts';
import { durationText } from '../format/time.ts';
import { me } from '../me.ts';
import { Age, Empty, Fact, Status } from '../parts/bits.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { NoData } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useSettings } from '../settings.tsx';
import { Pauses, PauseWork } from './pauses.tsx';

const WORKERS_SHOWN = 50;
/** How often a process reports. */
const REPORT_MS = 5_000;

type Worker = Awaited<ReturnType<typeof api.listWorkers>>['items'][number];

const workersQuery = queryOptions({
  queryKey: ['stats', 'workers'],
  queryFn: () => api.listWorkers({ limit: WORKERS_SHOWN }),
});

export function useWorkers() {
  const { isLive } = useSettings();
  return useQuery({ ...workersQuery, refetchInterval: isLive ? REPORT_MS : false });
}

export function Processes(): ReactElement {
  const list = useWorkers();
  const [drained, setDrained] = useState<Worker | null>(null);
  if (list.data === undefined) return <NoData query={list} />;
  const lost = list.data.items.filter(({ state }) => state === 'lost');
  const present = list.data.items.filter(({ state }) => state !== 'lost');
  return (
    <>
      <div className="row">
        <h1>Processes</h1>
        <PauseWork />
      </div>
      <Pauses />
      {present.length === 0 && <Empty command="npx holdfast start">No process has reported within 15 s.</Empty>}
      <div className="processes">
        {present.map((worker) => (
          <Process key={worker.id} worker={worker} onDrain={() => setDrained(worker)} />
        ))}
      </div>
      {lost.length > 0 && (
        <>
          <h2>Lost</h2>
          <p className="soft">
            They have missed three reports. Other workers take over their turns when their leases end.
          </p>
          <div className="processes">
            {lost.map((worker) => (
              <Process key={worker.id} worker={worker} onDrain={null} />
            ))}
          </div>
        </>
      )}
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
    </>
  );
}

function Process({ worker, onDrain }: { worker: Worker; onDrain: (() => void) | null }): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const { name, host, pid, roles, version, state, startedAt, seenAt, memoryBytes, loopDelayMs } = worker;
  return (
    <article className="panel" aria-label={name}>
      <div className="row">
        <Status status={state} />
        <h3 className="mono">
          <SafeText text={host} />:{pid}
        </h3>
        <span>{roles.join(', ')}</span>
        {who.role !== 'viewer' && state === 'running' && onDrain !== null && (
          <button type="button" className="button" aria-label={`Drain… ${name}`} onClick={onDrain}>
            Drain…
          </button>
        )}
      </div>
      <dl className="facts">
        <Fact name="Version">
          <SafeText text={version} />
        </Fact>
        <Fact name="Started">
          <Age at={startedAt} />
        </Fact>
        <Fact name="Last report">
          <Age at={seenAt} />
        </Fact>
        <Fact name="Memory">{memoryBytes === null ? 'not reported' : bytesText(memoryBytes)}</Fact>
        <Fact name="Event loop delay, p99">{loopDelayMs === null ? 'not reported' : durationText(loopDelayMs)}</Fact>
        {worker.queueAwaySince !== null && (
          <Fact name="Queue">
            away since <Age at={worker.queueAwaySince} />
          </Fact>
        )}
      </dl>
      <Slots worker={worker} />
    </article>
  );
}

/** The slots of each lane, and the turn that runs in each. */
function Slots({ worker: { name, lanes, running } }: { worker: Worker }): ReactElement {
  return (
    <ul className="slots" aria-label={`Slots of ${name}`}>
      {Object.entries(lanes).map(([lane, { slots, inUse }]) => (
        <li key={lane}>
          <span className="soft">
            {lane}, {inUse} of {slots} in use
          </span>
          {running
            .filter((turn) => turn.lane === lane)
            .map(({ turnId, sessionKey, startedAt }) => (
              <div key={turnId} className="row">
                <Link to="/turns/$id" params={{ id: turnId }}>
                  turn {turnId.slice(-6)}
                </Link>
                <Link to="/sessions/$key" params={{ key: sessionKey }}>
                  <SafeText text={sessionKey} />
                </Link>
                <span className="soft">
                  started <Age at={startedAt} />
                </span>
              </div>
            ))}
        </li>
      ))}
    </ul>
  );
}
