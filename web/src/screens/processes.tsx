// The processes of the service: what each runs right now, how it feels, and ways to let one stop or to pause work.
import { queryOptions, useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api, type Pause } from '../api.ts';
import { bytesText } from '../format/amounts.ts';
import { durationText } from '../format/time.ts';
import { useCanAct } from '../me.ts';
import { Age, Empty, Facts, Status } from '../parts/bits.tsx';
import { ConfirmButton } from '../parts/dialog-button.tsx';
import { KeyLink, TurnLink } from '../parts/links.tsx';
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
  const lost = list.data?.items.filter(({ state }) => state === 'lost') ?? [];
  const present = list.data?.items.filter(({ state }) => state !== 'lost') ?? [];
  return (
    <>
      <div className="row">
        <h1>Processes</h1>
        <PauseWork />
      </div>
      <Pauses />
      {list.data === undefined && <NoData query={list} />}
      {list.data !== undefined && present.length === 0 && (
        <Empty command="npx holdfast start">No process has reported within 15 s. Start one:</Empty>
      )}
      <div className="processes">
        {present.map((worker) => (
          <Process key={worker.id} worker={worker} />
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
              <Process key={worker.id} worker={worker} />
            ))}
          </div>
        </>
      )}
      {typeof list.data?.nextCursor === 'string' && (
        <p className="soft">
          The newest {WORKERS_SHOWN} are shown. <code>holdfast workers list</code> has all of them.
        </p>
      )}
    </>
  );
}

function Process({ worker }: { worker: Worker }): ReactElement {
  const canAct = useCanAct();
  const { id, name, host, pid, roles, version, state, startedAt, seenAt, memoryBytes, loopDelayMs, queueAwaySince } =
    worker;
  return (
    <article className="panel" aria-label={name}>
      <div className="row">
        <Status status={state} />
        <h3 className="mono">
          <SafeText text={host} />:{pid}
        </h3>
        <span>{roles.join(', ')}</span>
        {canAct && state === 'running' && (
          <ConfirmButton
            name="Drain…"
            label={`Drain… ${name}`}
            title={`Drain ${name}?`}
            verb="Drain the process"
            perform={() => api.drainWorker({ id })}
          >
            <p>
              It begins nothing new, finishes its step, and ends. Other processes take over its turns. To hold work back
              in all processes, pause a lane instead.
            </p>
          </ConfirmButton>
        )}
      </div>
      <Facts
        facts={{
          Version: <SafeText text={version} />,
          Started: <Age at={startedAt} />,
          'Last report': <Age at={seenAt} />,
          Memory: memoryBytes === null ? 'not reported' : bytesText(memoryBytes),
          'Event loop delay, p99': loopDelayMs === null ? 'not reported' : durationText(loopDelayMs),
          'Queue away since': queueAwaySince !== null && <Age at={queueAwaySince} />,
        }}
      />
      <Slots worker={worker} />
    </article>
  );
}

/** The slots of each lane, and the turn that runs in each. */
function Slots({ worker: { name, state, lanes, running } }: { worker: Worker }): ReactElement {
  return (
    <ul className="slots" aria-label={`Slots of ${name}`}>
      {Object.entries(lanes).map(([lane, { slots, inUse }]) => (
        <li key={lane}>
          <div className="row soft">
            {lane}: {inUse} of {slots} slots in use
            {state === 'running' && (
              <PauseWork lane={lane as Pause['lane']} label={`Pause lane ${lane}… (${name})`}>
                Pause lane…
              </PauseWork>
            )}
          </div>
          {running
            .filter((turn) => turn.lane === lane)
            .map(({ turnId, sessionKey, startedAt }) => (
              <div key={turnId} className="row">
                <TurnLink id={turnId} />
                <KeyLink sessionKey={sessionKey} />
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
