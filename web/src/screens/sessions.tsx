// The sessions, newest first.
import { lazy, useMemo, useState, type ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api, type Session } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { serverNowMs } from '../format/time.ts';
import { Age, Chip, Cost, Status } from '../parts/bits.tsx';
import { ContextBar } from '../parts/context-bar.tsx';
import { quoted, type CopiedRow } from '../parts/copy-row.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import type { RowActions } from '../parts/row-menu.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { From, SessionLink, Words } from '../parts/short-key.tsx';
import { Tags } from '../parts/tags.tsx';
import { useNow } from '../settings.tsx';
import { DESTRUCTIVE_ACTIONS, SESSION_ACTIONS, SessionQuestion, type SessionAction } from './session-questions.tsx';

const SessionPanel = lazy(async () => ({ default: (await import('./session-panel.tsx')).SessionPanel }));

type SessionQuery = NonNullable<Parameters<typeof api.listSessions>[0]>;

const SESSIONS: List<Session> = {
  title: 'Sessions',
  noun: 'session',
  key: ['session', 'list'],
  read: ({ kind, status, order, ...rest }, page, signal) =>
    api.listSessions(
      {
        ...rest,
        ...page,
        kind: kind?.split(',') as SessionQuery['kind'],
        status: status?.split(',') as SessionQuery['status'],
        order: order as SessionQuery['order'],
      },
      { signal },
    ),
  rereadMs: firstLeaseMs,
  hasChooser: true,
  columns: [
    { title: 'Status', width: '72px', isClear: true, cell: ({ status }) => <Status status={status} /> },
    {
      title: 'Session',
      width: 'minmax(100px, 2fr)',
      isClear: true,
      cell: ({ key, title }) => <SessionLink sessionKey={key} title={title} />,
    },
    {
      title: 'First words',
      width: 'minmax(120px, 3fr)',
      isClear: true,
      cell: ({ firstWords }) => <Words text={firstWords} />,
    },
    {
      title: 'Last words',
      width: 'minmax(120px, 3fr)',
      isClear: true,
      cell: ({ firstWords, lastWords }) => <Words text={lastWords === firstWords ? null : lastWords} />,
    },
    { title: 'From', width: '110px', yields: true, cell: (session) => <From of={session} /> },
    { title: 'Kind', width: '68px', isExtra: true, cell: ({ kind }) => kind },
    { title: 'Agent', width: '60px', isExtra: true, cell: ({ agentId }) => agentId },
    { title: 'Lock', width: 'minmax(130px, 1fr)', isExtra: true, cell: ({ lock }) => <Lock lock={lock} /> },
    {
      title: 'Waiting',
      width: '52px',
      isNumber: true,
      yields: true,
      cell: ({ waitingMessages }) => countText(waitingMessages),
    },
    {
      title: 'Context',
      width: '104px',
      isNumber: true,
      isExtra: true,
      cell: (session) => <ContextBar session={session} />,
    },
    {
      title: 'Tokens',
      width: '56px',
      isNumber: true,
      isExtra: true,
      cell: ({ tokens }) => countText(tokens.input + tokens.output),
    },
    { title: 'Channel', width: '90px', isExtra: true, cell: ({ channel }) => channel },
    { title: 'Queue mode', width: '90px', isExtra: true, cell: ({ queueMode }) => queueMode },
    { title: 'Model', width: '120px', isExtra: true, cell: ({ model }) => <SafeText text={model ?? ''} /> },
    {
      title: 'Tags',
      width: 'minmax(100px, 1fr)',
      isExtra: true,
      cell: ({ tags }) => <Tags tags={tags} to="/sessions" />,
    },
    {
      title: 'Cost',
      width: '100px',
      isNumber: true,
      yields: true,
      cell: (session) => <Cost of={session} isInColumn />,
    },
    { title: 'Active', width: '74px', cell: ({ updatedAt }) => <Age at={updatedAt} /> },
    { title: 'Created', width: '100px', isExtra: true, cell: ({ createdAt }) => <Age at={createdAt} /> },
    { title: 'Id', width: '290px', isExtra: true, cell: ({ id }) => <span className="mono">{id}</span> },
  ],
  filters: [
    { name: 'kind', title: 'Kind', options: CHOICES.listSessions.kind, usual: 'all but batch' },
    { name: 'status', title: 'Status', options: CHOICES.listSessions.status },
    { name: 'agent', title: 'Agent', options: 'agents' },
    { name: 'channel', title: 'Channel', options: 'channels' },
    { name: 'tag', title: 'Tag, as key:value' },
    { name: 'q', title: 'Id or key' },
    { name: 'order', title: 'Newest by', options: CHOICES.listSessions.order, usual: 'created' },
  ],
  idOf: ({ key }) => key,
  pathOf: ({ key }) => `/sessions/${encodeURIComponent(key)}`,
  panel: (key, close) => <SessionPanel key={key} sessionKey={key} onClose={close} />,
  copied: copiedOf,
  empty: {
    text: 'There is no session yet. A session begins with its first message.',
    command: 'npx holdfast send main "Hello"',
  },
};

export function Sessions(): ReactElement {
  const [asked, setAsked] = useState<{ action: SessionAction; session: Session } | null>(null);
  const rowActions = useMemo(
    () =>
      (session: Session): RowActions => ({
        of: session.key,
        actions: SESSION_ACTIONS.map((action) => ({
          name: `${action}…`,
          tone: DESTRUCTIVE_ACTIONS.has(action) ? 'bad' : undefined,
          onChoose: () => setAsked({ action, session }),
        })),
      }),
    [],
  );
  return (
    <ListScreen list={SESSIONS} rowActions={rowActions}>
      {asked !== null && <SessionQuestion {...asked} onClose={() => setAsked(null)} />}
    </ListScreen>
  );
}

function copiedOf(row: Session): CopiedRow {
  const { id, key } = row;
  return {
    id,
    path: `/v1/sessions/${encodeURIComponent(key)}`,
    command: `npx holdfast sessions show ${quoted(key)}`,
    row,
  };
}

/** The shortest time after which the list is read again because of a lease. */
const LEASE_POLL_MS_MIN = 5_000;

/**
 * How long after the sessions were read the first of their leases ends; false: none of them is
 * held. No event says that a lease was renewed, so the list is then read again.
 */
function firstLeaseMs(sessions: readonly Session[], readAtMs: number): number | false {
  const readAt = readAtMs + serverNowMs() - Date.now();
  const leftMs = sessions.flatMap(({ lock }) => (lock === null ? [] : [Date.parse(lock.until) - readAt]));
  const first = Math.min(...leftMs.filter((ms) => ms > 0));
  // In whole seconds, so that the same answer gives the same time.
  return Number.isFinite(first) ? Math.max(LEASE_POLL_MS_MIN, Math.ceil(first / 1_000) * 1_000) : false;
}

/** The id in the name of a process: its host and its number tell people more. */
const PROCESS_ID = /:[\da-f-]{36}$/;

function Lock({ lock }: { lock: Session['lock'] }): ReactElement | null {
  const nowMs = useNow();
  if (lock === null) return null;
  const { until } = lock;
  const holder = lock.holder ?? 'a process';
  return (
    <span title={`held by ${holder}`}>
      {Date.parse(until) < nowMs ? (
        <Chip tone="warn">expired</Chip>
      ) : (
        <>
          <span className="hidden-visually">lease ends </span>
          <Age at={until} />
        </>
      )}{' '}
      <span className="soft">
        <SafeText text={holder.replace(PROCESS_ID, '')} />
      </span>
    </span>
  );
}
