// Tool calls that wait for an approval: the open ones first; one is opened beside the list, whole,
// and is decided there.
import type { ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api, type Approval } from '../api.ts';
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
    cell: ({ sessionKey, sessionTitle }) => <SessionLink sessionKey={sessionKey} title={sessionTitle} />,
  },
  {
    title: 'Input',
    width: 'minmax(160px, 3fr)',
    cell: ({ title }) => <Words text={title} />,
  },
  { title: 'Why', width: '120px', yields: true, cell: ({ reasons }) => <SafeText text={reasons.join(', ')} /> },
  { title: 'Asked', width: '92px', yields: true, cell: ({ requestedAt }) => <Age at={requestedAt} /> },
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
  panel: (id, close) => <ApprovalDetails key={id} id={id} onClose={close} />,
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
  return <ListScreen list={APPROVALS} />;
}
