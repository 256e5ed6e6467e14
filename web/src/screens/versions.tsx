// The environment of the process that answers.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { Facts } from '../parts/bits.tsx';
import { NoData } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { configuration } from './configuration-query.ts';

export function Versions(): ReactElement {
  const found = useQuery(configuration);
  if (found.isError || found.data === undefined) return <NoData query={found} />;
  const { versions, model } = found.data;
  return (
    <Panel title="Versions">
      <Facts
        facts={{
          Holdfast: versions.holdfast,
          Node: versions.node,
          PostgreSQL: `${versions.postgres} (${versions.database === 'embedded' ? 'embedded' : 'DATABASE_URL'})`,
          'Newest migration': versions.layout,
          'Backend of the queue': versions.queue === 'redis' ? 'Redis' : 'PostgreSQL',
          Model: model.isScripted ? 'the scripted model; amounts are what the calls would have cost' : model.name,
        }}
      />
      <p className="soft">Of the process that answers this page. Processes has the versions of the others.</p>
    </Panel>
  );
}
