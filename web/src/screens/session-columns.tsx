// The columns of the list of sessions.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Session } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { Age, Cost, Status } from '../parts/bits.tsx';
import { ContextBar } from '../parts/context-bar.tsx';
import type { Column } from '../parts/data-table.tsx';
import { RowMenu } from '../parts/row-menu.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useNow } from '../settings.tsx';
import { DESTRUCTIVE_ACTIONS, SESSION_ACTIONS, type SessionAction } from './session-questions.tsx';

const COLUMNS: readonly Column<Session>[] = [
  { title: 'Status', width: '72px', cell: ({ status }) => <Status status={status} /> },
  {
    title: 'Session',
    width: 'minmax(130px, 3fr)',
    cell: ({ key, label }) => (
      <Link to="/sessions/$key" params={{ key }}>
        <SafeText text={label ?? key} />
      </Link>
    ),
  },
  { title: 'Kind', width: '68px', cell: ({ kind }) => kind },
  { title: 'Agent', width: '60px', cell: ({ agentId }) => agentId },
  { title: 'Lock', width: 'minmax(130px, 1fr)', cell: ({ lock }) => <Lock lock={lock} /> },
  { title: 'Waiting', width: '50px', isNumber: true, cell: ({ waitingMessages }) => countText(waitingMessages) },
  { title: 'Context', width: '104px', isNumber: true, cell: (session) => <ContextBar session={session} /> },
  {
    title: 'Tokens',
    width: '56px',
    isNumber: true,
    cell: ({ tokens }) => countText(tokens.input + tokens.output),
  },
  { title: 'Channel', width: '90px', cell: ({ channel }) => channel },
  { title: 'Queue mode', width: '90px', cell: ({ queueMode }) => queueMode },
  { title: 'Model', width: '120px', cell: ({ model }) => <SafeText text={model ?? ''} /> },
  { title: 'Cost', width: '88px', isNumber: true, cell: (session) => <Cost of={session} isInColumn /> },
  { title: 'Active', width: '74px', cell: ({ updatedAt }) => <Age at={updatedAt} /> },
  { title: 'Created', width: '100px', cell: ({ createdAt }) => <Age at={createdAt} /> },
  { title: 'Id', width: '290px', cell: ({ id }) => <span className="mono">{id}</span> },
];
const USUAL: ReadonlySet<string> = new Set([
  'Status',
  'Session',
  'Kind',
  'Agent',
  'Lock',
  'Waiting',
  'Context',
  'Tokens',
  'Cost',
  'Active',
  'Actions',
]);

/** All columns in their order, and those that are shown when no choice was made. Without `onAsk` there are no actions. */
export function sessionColumns(onAsk: ((action: SessionAction, session: Session) => void) | undefined) {
  if (onAsk === undefined) return { all: COLUMNS, usual: new Set([...USUAL].filter((title) => title !== 'Actions')) };
  const actions: Column<Session> = {
    title: 'Actions',
    width: '96px',
    cell: (session) => (
      <RowMenu
        of={session.key}
        actions={SESSION_ACTIONS.map((action) => ({
          name: `${action}…`,
          tone: DESTRUCTIVE_ACTIONS.has(action) ? 'bad' : undefined,
          onChoose: () => onAsk(action, session),
        }))}
      />
    ),
  };
  return { all: [...COLUMNS, actions], usual: USUAL };
}

/** The id in the name of a process: its host and its number tell people more. */
const PROCESS_ID = /:[\da-f-]{36}$/;

function Lock({ lock }: { lock: Session['lock'] }): ReactElement | null {
  const nowMs = useNow();
  if (lock === null) return null;
  const { holder, until } = lock;
  return (
    <span title={`held by ${holder}`}>
      {Date.parse(until) < nowMs ? (
        <span className="chip" data-tone="warn">
          expired
        </span>
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
