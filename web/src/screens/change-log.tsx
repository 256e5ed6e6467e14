// The audit log: who has done what, in sentences.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { destinationsQuery } from '../attention.ts';
import { deedText, objectOf } from '../format/audit-text.ts';
import { Age, Chip } from '../parts/bits.tsx';
import { NoData } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { keysQuery } from './api-keys.tsx';

const CHANGES_SHOWN = 100;

type Change = Awaited<ReturnType<typeof api.listAudit>>['items'][number];

export function ChangeLog(): ReactElement {
  const list = useQuery({ queryKey: ['audit'], queryFn: () => api.listAudit({ limit: CHANGES_SHOWN }) });
  const named = [...(useQuery(keysQuery).data?.items ?? []), ...(useQuery(destinationsQuery).data?.items ?? [])];
  const names = new Map(named.map(({ id, name }) => [id, `‘${name}’`]));
  return (
    <Panel title="Audit log">
      {list.data === undefined && <NoData query={list} />}
      {list.data?.items.length === 0 && <p className="soft">Nothing was changed yet.</p>}
      <ol className="changes">
        {list.data?.items.map((change) => (
          <Entry key={change.id} change={change} names={names} />
        ))}
      </ol>
    </Panel>
  );
}

function Entry({
  change: { at, principal, sees, action, target, reason, outcome },
  names,
}: {
  change: Change;
  names: ReadonlyMap<string, string>;
}): ReactElement {
  const object = objectOf(target);
  const name = object === null ? null : (names.get(object) ?? object);
  return (
    <li title={`${action} ${target}`}>
      <strong>
        <SafeText text={principal.replace(/^key:/, '')} />
      </strong>{' '}
      {sees !== null && (
        <span className="soft">
          (sees <SafeText text={sees.join(', ')} />){' '}
        </span>
      )}
      {deedText(action)}
      {name !== null && (
        <>
          {' '}
          <SafeText text={name} />
        </>
      )}
      ,{' '}
      <span className="soft">
        <Age at={at} />
      </span>
      {reason !== null && (
        <>
          {' '}
          because “<SafeText text={reason} />”
        </>
      )}{' '}
      {outcome !== 'ok' && (
        <Chip tone="bad">{outcome === null ? 'it is not known how it ended' : `refused: ${outcome}`}</Chip>
      )}
    </li>
  );
}
