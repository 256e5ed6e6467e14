// Every setting of the process that answers, with what decides it.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { shortened } from '../format/long-text.ts';
import { Chip, NoMatch } from '../parts/bits.tsx';
import { NoData } from '../parts/loading.tsx';
import { Panel, PlainTable, type PlainColumn } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';
import { configuration } from './configuration-query.ts';

const route = getRouteApi('/app/settings');

type Setting = Awaited<ReturnType<typeof api.getConfig>>['items'][number];

/** A longer value is cut; its file has all of it. */
const VALUE_CHARS = 2_000;

export function Configuration(): ReactElement {
  const { q, only } = route.useSearch();
  const navigate = useNavigate({ from: '/settings' });
  const found = useQuery(configuration);
  const filter = (next: { q: string | undefined; only: string | undefined }): void => {
    const given = Object.entries(next).filter(([, value]) => value !== undefined);
    void navigate({ search: { tab: 'configuration', ...Object.fromEntries(given) }, replace: true });
  };
  if (found.isError || found.data === undefined) return <NoData query={found} />;
  const { items, file } = found.data;
  const wanted = q?.toLowerCase() ?? '';
  const shown = items.filter(
    ({ path, source }) => path.toLowerCase().includes(wanted) && (only !== 'changed' || source !== 'default'),
  );
  return (
    <Panel title="Configuration">
      <p className="soft">
        Of the process that answers this page. {file === null ? 'It has read no file.' : <SafeText text={file} />} A
        change of a variable takes effect when the process starts again, one of the file as the table says.
      </p>
      <Filters>
        <TextFilter name="Path contains" value={q} onChange={(next) => filter({ q: next, only })} />
        <Choice name="Only" value={only} options={['changed']} onChange={(next) => filter({ q, only: next })} />
      </Filters>
      <p role="status">
        {countText(shown.length)} of {countText(items.length)} settings
      </p>
      {shown.length === 0 ? (
        <NoMatch noun="setting" onClear={() => filter({ q: undefined, only: undefined })} />
      ) : (
        <PlainTable columns={COLUMNS} rows={shown} idOf={({ path }) => path} />
      )}
    </Panel>
  );
}

const COLUMNS: readonly PlainColumn<Setting>[] = [
  { title: 'Path', className: 'mono', cell: ({ path }) => <SafeText text={path} /> },
  { title: 'Value', className: 'mono', cell: (setting) => <Value setting={setting} /> },
  {
    title: 'Decided by',
    cell: ({ source, at }) =>
      source === 'default' ? (
        <span className="soft">default</span>
      ) : (
        <>
          <Chip tone="live">{source}</Chip> <SafeText text={at ?? ''} />
        </>
      ),
  },
  { title: 'Takes effect', cell: ({ needsRestart }) => (needsRestart ? 'after a restart' : 'immediately') },
];

function Value({ setting: { value, isSecret } }: { setting: Setting }): ReactElement {
  if (isSecret) {
    const { isSet, fingerprint } = value as { isSet: boolean; fingerprint: string | null };
    return isSet ? <>set ({fingerprint})</> : <span className="soft">not set</span>;
  }
  if (value === null || value === undefined) return <span className="soft">not set</span>;
  return <SafeText text={shortened(JSON.stringify(value), VALUE_CHARS)} />;
}
