// The audit log.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { Age } from '../parts/bits.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';

const CHANGES_SHOWN = 100;

export function ChangeLog(): ReactElement {
  const list = useQuery({ queryKey: ['audit'], queryFn: () => api.listAudit({ limit: CHANGES_SHOWN }) });
  return (
    <section className="panel" aria-labelledby="changes">
      <h2 id="changes">Audit log</h2>
      {list.isError && <Problem error={list.error} />}
      {list.data?.items.length === 0 && <p className="soft">Nothing was changed yet.</p>}
      <div className="scroll-x">
        <table className="plain cards">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Who</th>
              <th scope="col">What</th>
              <th scope="col">On</th>
              <th scope="col">Reason</th>
              <th scope="col">Outcome</th>
            </tr>
          </thead>
          <tbody>
            {list.data?.items.map((change) => (
              <tr key={change.id}>
                <td data-label="When" className="nowrap">
                  <Age at={change.at} />
                </td>
                <td data-label="Who">
                  <SafeText text={change.principal} />
                </td>
                <td data-label="What" className="nowrap">
                  {change.action}
                </td>
                <td data-label="On" className="mono">
                  <SafeText text={change.target} />
                </td>
                <td data-label="Reason">
                  <SafeText text={change.reason ?? ''} />
                </td>
                <td data-label="Outcome">{change.outcome ?? 'not known'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
