// Tool calls that wait for an approval: the open ones first; one is opened above the list, whole,
// and is decided there.
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api, type Approval } from '../api.ts';
import { beginningOf } from '../format/long-text.ts';
import { Age } from '../parts/bits.tsx';
import type { Column } from '../parts/data-table.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { SessionLink, Words } from '../parts/short-key.tsx';
import { ApprovalDetails, ApprovalStatus, RequestLink, rereadApprovalsMs } from './approval-details.tsx';

type Status = NonNullable<NonNullable<Parameters<typeof api.listApprovals>[0]>['status']>;

const ANY = 'any';
const COLUMNS: readonly Column<Approval>[] = [
  { title: 'Status', width: '92px', cell: ({ status }) => <ApprovalStatus status={status} /> },
  { title: 'Request', width: 'minmax(130px, 1fr)', cell: (request) => <RequestLink request={request} /> },
  {
    title: 'Session',
    width: 'minmax(140px, 2fr)',
    cell: ({ sessionKey }) => <SessionLink sessionKey={sessionKey} />,
  },
  {
    title: 'Input',
    width: 'minmax(160px, 3fr)',
    // Its first line names the tool and the folder.
    cell: ({ shown }) => <Words text={beginningOf(shown.slice(shown.indexOf('\n') + 1), 200)} />,
  },
  { title: 'Why', width: '120px', cell: ({ reasons }) => <SafeText text={reasons.join(', ')} /> },
  { title: 'Asked', width: '92px', cell: ({ requestedAt }) => <Age at={requestedAt} /> },
  {
    title: 'Ends',
    width: '132px',
    cell: ({ status, expiresAt, decidedBy, decidedAt }) =>
      status === 'open' ? (
        <Age at={expiresAt} />
      ) : (
        <>
          <Age at={decidedAt} /> {decidedBy !== null && <SafeText text={decidedBy} />}
        </>
      ),
  },
];

const APPROVALS: List<Approval> = {
  title: 'Approvals',
  noun: 'request',
  key: ['approvals', 'list'],
  read: ({ status = 'open' }, page, signal) =>
    api.listApprovals(status === ANY ? page : { ...page, status: status as Status }, { signal }),
  rereadMs: rereadApprovalsMs,
  columns: COLUMNS,
  filters: [{ name: 'status', title: 'Status', usual: 'open', options: [...CHOICES.listApprovals.status, ANY] }],
  idOf: ({ id }) => id,
  empty: {
    text: (
      <>
        No tool call waits for an approval. Calls wait that a rule of <code>tools.approvals.rules</code> names; the
        status <em>any</em> shows those that were decided, too.
      </>
    ),
  },
};

export function Approvals(): ReactElement {
  const { open } = useSearch({ from: '/app/approvals' });
  const navigate = useNavigate({ from: '/approvals' });
  const show = (id: string | null): void =>
    void navigate({ search: ({ open: _open, ...before }) => (id === null ? before : { ...before, open: id }) });
  return (
    <ListScreen list={APPROVALS} onOpen={({ id }) => show(id)}>
      {open !== undefined && <ApprovalDetails key={open} id={open} onClose={() => show(null)} />}
    </ListScreen>
  );
}
