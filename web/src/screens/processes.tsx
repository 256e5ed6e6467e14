// The processes of the service: what each runs right now, how it feels, and ways to let one stop or
// to pause work.
import { queryOptions, useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api, type Pause } from '../api.ts';
import { bytesText } from '../format/amounts.ts';
import { durationText } from '../format/time.ts';
import { useCanAct } from '../me.ts';
import { Age, Chip, Empty, Facts, Status } from '../parts/bits.tsx';
import { ConfirmButton } from '../parts/dialog-button.tsx';
import { KeyLink, TurnLink } from '../parts/links.tsx';
import { Fault, NoData } from '../parts/loading.tsx';
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

/** What the commands of each process run in, as it last reported. */
function useSandboxes() {
  const { isLive } = useSettings();
  return useQuery({
    queryKey: ['stats', 'sandbox'],
    queryFn: () => api.getSandbox(),
    refetchInterval: isLive ? REPORT_MS : false,
  });
}

type Sandbox = Awaited<ReturnType<typeof api.getSandbox>>['items'][number];

export function Processes(): ReactElement {
  const list = useWorkers();
  const sandboxes = useSandboxes();
  const sandboxOf = ({ id }: Worker) => sandboxes.data?.items.find(({ workerId }) => workerId === id);
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
          <Process key={worker.id} worker={worker} sandbox={sandboxOf(worker)} />
        ))}
      </div>
      <Fault query={sandboxes} />
      {lost.length > 0 && (
        <>
          <h2>Lost</h2>
          <p className="soft">
            They have missed three reports. Other workers take over their turns when their leases end.
          </p>
          <div className="processes">
            {lost.map((worker) => (
              <Process key={worker.id} worker={worker} sandbox={undefined} />
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

interface ProcessProps {
  worker: Worker;
  /** undefined: it runs no commands, or has not said in what. */
  sandbox: Sandbox | undefined;
}

function Process({ worker, sandbox }: ProcessProps): ReactElement {
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
          <span className="end">
            <ConfirmButton
              name="Drain…"
              label={`Drain… ${name}`}
              title={`Drain ${name}?`}
              verb="Drain the process"
              perform={() => api.drainWorker({ id })}
            >
              <p>
                It begins nothing new, finishes its step, and ends. Other processes take over its turns. To hold work
                back in all processes, pause a lane instead.
              </p>
            </ConfirmButton>
          </span>
        )}
      </div>
      <Facts
        facts={{
          Version: <SafeText text={version} />,
          Started: <Age at={startedAt} />,
          'Last report': <Age at={seenAt} />,
          Memory: memoryBytes === null ? 'not reported' : bytesText(memoryBytes),
          'Event loop delay, p99': loopDelayMs === null ? 'not reported' : durationText(loopDelayMs),
          Commands: sandbox !== undefined && <SandboxState sandbox={sandbox} />,
          'Queue away since': queueAwaySince !== null && <Age at={queueAwaySince} />,
        }}
      />
      <Slots worker={worker} />
    </article>
  );
}

const SANDBOXES = {
  on: { words: 'run in a sandbox', tone: 'good' },
  reduced: { words: 'run in a sandbox and lack something', tone: 'warn' },
  off: { words: 'run outside a sandbox', tone: 'warn' },
  refused: { words: 'do not run: the sandbox does not work', tone: 'bad' },
  unknown: { words: 'do not run before it is known whether in a sandbox', tone: 'warn' },
  external: { words: 'run in the container of the process', tone: undefined },
} as const;

function SandboxState({ sandbox: { status, runtime, reason, checkedAt } }: { sandbox: Sandbox }): ReactElement {
  const { words, tone } = SANDBOXES[status];
  return (
    <>
      <Chip tone={tone}>{status}</Chip> {words}
      {(status === 'on' || status === 'reduced') && (
        <>
          {' ('}
          <SafeText text={runtime} />)
        </>
      )}
      {reason !== null && (
        <>
          : <SafeText text={reason} />
        </>
      )}
      {checkedAt !== null && (
        <span className="soft">
          {' '}
          checked <Age at={checkedAt} />
        </span>
      )}
    </>
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
              <span className="end">
                <PauseWork of={{ lane: lane as Pause['lane'] }} label={`Pause lane ${lane}… (${name})`}>
                  Pause lane…
                </PauseWork>
              </span>
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
