// Every setting of the process that answers, with what decides it.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { shortened } from '../format/long-text.ts';
import { Empty } from '../parts/bits.tsx';
import { NoData } from '../parts/loading.tsx';
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
    <section className="panel" aria-labelledby="configuration">
      <h2 id="configuration">Configuration</h2>
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
        <Empty>No setting fits. Clear the filters to see all.</Empty>
      ) : (
        <table className="plain cards">
          <thead>
            <tr>
              <th scope="col">Path</th>
              <th scope="col">Value</th>
              <th scope="col">Decided by</th>
              <th scope="col">Takes effect</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((setting) => (
              <SettingRow key={setting.path} setting={setting} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function SettingRow({ setting }: { setting: Setting }): ReactElement {
  const { path, source, at, needsRestart } = setting;
  return (
    <tr>
      <th scope="row" className="mono">
        <SafeText text={path} />
      </th>
      <td data-label="Value" className="mono">
        <Value setting={setting} />
      </td>
      <td data-label="Decided by">
        {source === 'default' ? (
          <span className="soft">default</span>
        ) : (
          <>
            <span className="chip" data-tone="live">
              {source}
            </span>{' '}
            <SafeText text={at ?? ''} />
          </>
        )}
      </td>
      <td data-label="Takes effect">{needsRestart ? 'after a restart' : 'immediately'}</td>
    </tr>
  );
}

function Value({ setting: { value, isSecret } }: { setting: Setting }): ReactElement {
  if (isSecret) {
    const { isSet, fingerprint } = value as { isSet: boolean; fingerprint: string | null };
    return isSet ? <>set ({fingerprint})</> : <span className="soft">not set</span>;
  }
  if (value === null || value === undefined) return <span className="soft">not set</span>;
  return <SafeText text={shortened(JSON.stringify(value), VALUE_CHARS)} />;
}
