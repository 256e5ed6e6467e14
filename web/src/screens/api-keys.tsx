// API keys: those that were created, and the form that creates one.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { Age, Time } from '../parts/bits.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { NoData } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';

const ROLES = ['viewer', 'operator', 'admin'] as const;

export const keysQuery = { queryKey: ['keys'], queryFn: () => api.listKeys({ limit: 200 }) };

export function ApiKeys(): ReactElement {
  const queries = useQueryClient();
  const list = useQuery(keysQuery);
  const [revoked, setRevoked] = useState<{ id: string; name: string } | null>(null);
  return (
    <section className="panel" aria-labelledby="keys">
      <h2 id="keys">API keys</h2>
      <NewKey onMade={() => void queries.invalidateQueries({ queryKey: ['keys'] })} />
      {list.data === undefined && <NoData query={list} />}
      {list.data?.items.length === 0 && (
        <p className="soft">No key was created yet. Keys of the configuration are not listed.</p>
      )}
      {(list.data?.items.length ?? 0) > 0 && (
        <div className="scroll-x">
          <table className="plain cards">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Role</th>
                <th scope="col">Created</th>
                <th scope="col">Last used</th>
                <th scope="col">Expires</th>
                <th scope="col">State</th>
              </tr>
            </thead>
            <tbody>
              {list.data?.items.map((key) => (
                <KeyRow key={key.id} apiKey={key} onRevoke={() => setRevoked(key)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {revoked !== null && (
        <Confirm
          title={`Revoke the key ${revoked.name}?`}
          verb="Revoke"
          onClose={() => setRevoked(null)}
          perform={async () => {
            await api.revokeKey({ id: revoked.id });
            void queries.invalidateQueries({ queryKey: ['keys'] });
          }}
        >
          <p>Programs that use it are refused, and browsers that signed in with it are signed out.</p>
        </Confirm>
      )}
    </section>
  );
}

type ApiKey = Awaited<ReturnType<typeof api.listKeys>>['items'][number];

function KeyRow({ apiKey, onRevoke }: { apiKey: ApiKey; onRevoke: () => void }): ReactElement {
  return (
    <tr>
      <td data-label="Name">
        <SafeText text={apiKey.name} />
      </td>
      <td data-label="Role">{apiKey.role}</td>
      <td data-label="Created">
        <Age at={apiKey.createdAt} /> by <SafeText text={apiKey.createdBy} />
      </td>
      <td data-label="Last used">
        <Age at={apiKey.lastUsedAt} />
      </td>
      <td data-label="Expires">{apiKey.expiresAt === null ? 'never' : <Time at={apiKey.expiresAt} />}</td>
      <td data-label="State">
        {apiKey.revokedAt === null ? (
          <button type="button" className="button" data-tone="bad" onClick={onRevoke}>
            Revoke…
          </button>
        ) : (
          <span className="soft">
            revoked <Age at={apiKey.revokedAt} />
          </span>
        )}
      </td>
    </tr>
  );
}

function NewKey({ onMade }: { onMade: () => void }): ReactElement {
  const [name, setName] = useState('');
  const [role, setRole] = useState<(typeof ROLES)[number]>('viewer');
  const [made, setMade] = useState<{ name: string; key: string | null } | null>(null);
  const [error, setError] = useState<unknown>(null);

  async function submit(): Promise<void> {
    setError(null);
    try {
      const answer = await api.createKey({ body: { name, role } });
      setMade({ name, key: answer.key });
      setName('');
      onMade();
    } catch (cause) {
      setError(cause);
    }
  }

  return (
    <form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label>
        Name
        <input required maxLength={64} value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <label>
        Role
        <select
          value={role}
          onChange={(event) => setRole(ROLES.find((each) => each === event.target.value) ?? 'viewer')}
        >
          {ROLES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <button type="submit" className="button" data-tone="main">
        Create a key
      </button>
      {error !== null && <Problem error={error} />}
      {made !== null && (
        <p role="status">
          The key {made.name}, which is not shown again: <code>{made.key}</code>
        </p>
      )}
    </form>
  );
}
