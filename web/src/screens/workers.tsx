// The processes of the service.
import { queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { me } from '../me.ts';
import { Age, Status } from '../parts/bits.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useSettings } from '../settings.tsx';

const WORKERS_SHOWN = 50;
/** How often a process reports. */
const REPORT_MS = 5_000;

type Worker = Awaited<ReturnType<typeof api.listWorkers>>['items'][number];

export const workersQuery = queryOptions({
  queryKey: ['stats', 'workers'],
  queryFn: () => api.listWorkers({ limit: WORKERS_SHOWN }),
});

/** The processes of the service, and a way to let one finish its work and stop. */
export function Workers(): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const { isLive } = useSettings();
  const list = useQuery({
    ...workersQuery,
    refetchInterval: isLive ? REPORT_MS : false,
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
              <WorkerRow
                key={worker.id}
                worker={worker}
                onDrain={who.role === 'viewer' ? null : () => setDrained(worker)}
              />
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

function WorkerRow({ worker, onDrain }: { worker: Worker; onDrain: (() => void) | null }): ReactElement {
  return (
    <tr>
      <td>
        <Status status={worker.state} />
      </td>
      <td className="mono">
        <SafeText text={worker.host} />:{worker.pid}
      </td>
      <td>{worker.roles.join(', ')}</td>
      <td>
        {Object.entries(worker.lanes)
          .map(([lane, { slots, inUse }]) => `${lane} ${inUse}/${slots}`)
          .join(', ')}
      </td>
      <td>
        <SafeText text={worker.version} />
      </td>
      <td>
        <Age at={worker.seenAt} />
      </td>
      <td>
        {onDrain !== null && worker.state === 'running' && (
          <button type="button" className="button" aria-label={`Drain… ${worker.name}`} onClick={onDrain}>
            Drain…
          </button>
        )}
      </td>
    </tr>
  );
}
