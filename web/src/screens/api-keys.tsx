// API keys: those that were created, and the form that creates one.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { Age } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmButton } from '../parts/dialog-button.tsx';
import { Field, Select } from '../parts/fields.tsx';
import { NoData } from '../parts/loading.tsx';
import { Panel, PlainTable, type PlainColumn } from '../parts/panel.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';

const ROLES = ['viewer', 'operator', 'admin'] as const;

export const keysQuery = { queryKey: ['keys'], queryFn: () => api.listKeys({ limit: 200 }) };

type ApiKey = Awaited<ReturnType<typeof api.listKeys>>['items'][number];

const COLUMNS: readonly PlainColumn<ApiKey>[] = [
  { title: 'Name', cell: ({ name }) => <SafeText text={name} /> },
  { title: 'Role', cell: ({ role }) => role },
  {
    title: 'Sees',
    cell: ({ agents, sessions }) => (
      <SafeText text={[...(agents ?? []), ...(sessions ?? [])].join(', ') || 'everything'} />
    ),
  },
  {
    title: 'Created',
    cell: ({ createdAt, createdBy }) => (
      <>
        <Age at={createdAt} /> by <SafeText text={createdBy} />
      </>
    ),
  },
  { title: 'Last used', cell: ({ lastUsedAt }) => <Age at={lastUsedAt} /> },
  { title: 'Expires', cell: ({ expiresAt }) => <Age at={expiresAt} /> },
];

export function ApiKeys(): ReactElement {
  const queries = useQueryClient();
  const list = useQuery(keysQuery);
  const keys = list.data?.items ?? [];
  const refresh = (): Promise<void> => queries.invalidateQueries(keysQuery);
  const state: PlainColumn<ApiKey> = {
    title: 'State',
    cell: (key) =>
      key.revokedAt === null ? (
        <ConfirmButton
          name="Revoke…"
          buttonTone="bad"
          title={`Revoke the key ${key.name}?`}
          verb="Revoke the key"
          perform={() => api.revokeKey({ id: key.id }).then(refresh)}
        >
          <p>Programs that use it are refused, and browsers that signed in with it are signed out.</p>
        </ConfirmButton>
      ) : (
        <span className="soft">
          revoked <Age at={key.revokedAt} />
        </span>
      ),
  };
  return (
    <Panel title="API keys">
      <NewKey onMade={refresh} />
      {list.data === undefined && <NoData query={list} />}
      {list.data?.items.length === 0 && (
        <p className="soft">No key was created yet. Keys of the configuration are not listed.</p>
      )}
      {keys.length > 0 && (
        <div className="scroll-x">
          <PlainTable columns={[...COLUMNS, state]} rows={keys} idOf={({ id }) => id} />
        </div>
      )}
    </Panel>
  );
}

/** The names in a text with commas between them. */
const namesOf = (text: string): string[] => text.split(',').flatMap((name) => name.trim() || []);

function NewKey({ onMade }: { onMade: () => Promise<void> }): ReactElement {
  const [name, setName] = useState('');
  const [replaces, setReplaces] = useState('');
  const [agents, setAgents] = useState('');
  const [sessions, setSessions] = useState('');
  const [role, setRole] = useState<(typeof ROLES)[number]>('viewer');
  const make = useMutation({
    mutationFn: () =>
      api.createKey({
        body: {
          name,
          role,
          ...(agents.trim() === '' ? {} : { agents: namesOf(agents) }),
          ...(sessions.trim() === '' ? {} : { sessions: namesOf(sessions) }),
          ...(replaces === '' ? {} : { replaces }),
        },
      }),
    async onSuccess() {
      setName('');
      setReplaces('');
      setAgents('');
      setSessions('');
      await onMade();
    },
  });
  return (
    <form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate();
      }}
    >
      <Field name="Name" required maxLength={64} value={name} onChange={setName} />
      <Select name="Role" value={role} options={ROLES} onChange={setRole} />
      <Field
        name="Only agents"
        value={agents}
        onChange={setAgents}
        title="The ids of agents, with commas between them: the key sees only their sessions, and what these started"
      />
      <Field
        name="Only sessions"
        value={sessions}
        onChange={setSessions}
        title="Beginnings of session keys, such as agent:main:shop:*, with commas between them: the key sees only these, and what they started"
      />
      <Field
        name="Replaces (name or id)"
        maxLength={200}
        value={replaces}
        onChange={setReplaces}
        title="An earlier key, whose conversations and stored answers the new one continues"
      />
      <Button type="submit" tone="main" disabled={make.isPending}>
        Create a key
      </Button>
      {make.isError && <Problem error={make.error} />}
      {make.data !== undefined && (
        <p role="status">
          The key {make.data.name}, which is not shown again: <code>{make.data.key}</code>
        </p>
      )}
    </form>
  );
}
