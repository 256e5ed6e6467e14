// The processes of the service: what each runs right now, how it feels, and ways to let one stop or to pause work.
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Pause } from '../api.ts';
import { bytesText } from '../format/amounts.ts';
import { durationText } from '../format/time.ts';
import { useCanAct } from '../me.ts';
import { Age, Empty, Fact, Status } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { KeyLink, TurnLink } from '../parts/links.tsx';
import { NoData } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useSettings } from '../settings.tsx';
import { PauseForm, Pauses, PauseWork } from './pauses.tsx';

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
  const [question, setQuestion] = useState<Question | null>(null);
  const ask = useCanAct() ? setQuestion : undefined;
  const close = (): void => setQuestion(null);
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
          <Process key={worker.id} worker={worker} ask={ask} />
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
              <Process key={worker.id} worker={worker} ask={undefined} />
            ))}
          </div>
        </>
      )}
      {typeof list.data?.nextCursor === 'string' && (
        <p className="soft">
          The newest {WORKERS_SHOWN} are shown. <code>holdfast workers list</code> has all of them.
        </p>
      )}
      {question?.kind === 'pause' && <PauseForm lane={question.lane} onClose={close} />}
      {question?.kind === 'drain' && (
        <Confirm
          title={`Drain ${question.worker.name}?`}
          verb="Drain the process"
          onClose={close}
          perform={() => api.drainWorker({ id: question.worker.id })}
        >
          <p>
            It begins nothing new, finishes its step, and ends. Other processes take over its turns. To hold work back
            in all processes, pause a lane instead.
          </p>
        </Confirm>
      )}
    </>
  );
}

type Question = { kind: 'drain'; worker: Worker } | { kind: 'pause'; lane: Pause['lane'] };

interface ProcessProps {
  worker: Worker;
  /** Absent: nothing can be done to it, or not by this person. */
  ask: ((question: Question) => void) | undefined;
}

function Process({ worker, ask }: ProcessProps): ReactElement {
  const { name, host, pid, roles, version, state, startedAt, seenAt, memoryBytes, loopDelayMs } = worker;
  return (
    <article className="panel" aria-label={name}>
      <div className="row">
        <Status status={state} />
        <h3 className="mono">
          <SafeText text={host} />:{pid}
        </h3>
        <span>{roles.join(', ')}</span>
        {ask !== undefined && state === 'running' && (
          <Button aria-label={`Drain… ${name}`} onClick={() => ask({ kind: 'drain', worker })}>
            Drain…
          </Button>
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
      <Slots {...{ worker, ask }} />
    </article>
  );
}

/** The slots of each lane, and the turn that runs in each. */
function Slots({ worker: { name, lanes, running }, ask }: ProcessProps): ReactElement {
  return (
    <ul className="slots" aria-label={`Slots of ${name}`}>
      {Object.entries(lanes).map(([lane, { slots, inUse }]) => (
        <li key={lane}>
          <div className="row soft">
            {lane}: {inUse} of {slots} slots in use
            {ask !== undefined && (
              <Button
                aria-label={`Pause lane ${lane}… (${name})`}
                onClick={() => ask({ kind: 'pause', lane: lane as Pause['lane'] })}
              >
                Pause lane…
              </Button>
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
