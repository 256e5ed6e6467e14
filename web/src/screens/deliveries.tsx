// The outbox: how much is in each state and for how long, with filters in the URL; one delivery is
// opened beside the list.
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api, type Delivery } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { Age, Status } from '../parts/bits.tsx';
import type { Column } from '../parts/data-table.tsx';
import { DeliveryDetails } from '../parts/delivery-details.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { haveBegun } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { SessionLink, Words } from '../parts/short-key.tsx';

type DeliveryQuery = NonNullable<Parameters<typeof api.listDeliveries>[0]>;

const COLUMNS: readonly Column<Delivery>[] = [
  { title: 'Status', width: '92px', isClear: true, cell: ({ status }) => <Status status={status} /> },
  {
    title: 'Delivery',
    width: '130px',
    isClear: true,
    cell: ({ id, payload, part, parts }) => (
      <Link to="/deliveries" search={(before) => ({ ...before, open: id })}>
        {payload.type ?? 'delivery'} {id.slice(-6)}
        {parts > 1 && `, ${part} of ${parts}`}
      </Link>
    ),
  },
  {
    title: 'Session',
    yields: true,
    width: 'minmax(120px, 2fr)',
    cell: ({ sessionKey, sessionTitle }) => <SessionLink sessionKey={sessionKey} title={sessionTitle} />,
  },
  { title: 'Channel', width: '90px', yields: true, cell: ({ channel }) => <SafeText text={channel} /> },
  {
    title: 'Text',
    width: 'minmax(160px, 4fr)',
    isClear: true,
    cell: ({ title }) => <Words text={title} />,
  },
  { title: 'Attempts', width: '76px', isNumber: true, yields: true, cell: ({ attempts }) => attempts },
  { title: 'Created', width: '96px', cell: ({ createdAt }) => <Age at={createdAt} /> },
  {
    title: 'Last answer',
    yields: true,
    width: 'minmax(120px, 2fr)',
    cell: ({ lastStatus, lastError }) => <SafeText text={lastError ?? lastStatus?.toString() ?? ''} />,
  },
];

const DELIVERIES: List<Delivery> = {
  title: 'Deliveries',
  noun: 'delivery',
  key: ['deliveries', 'list'],
  read: ({ status, ...rest }, page, signal) =>
    api.listDeliveries({ ...rest, ...page, status: status?.split(',') as DeliveryQuery['status'] }, { signal }),
  columns: COLUMNS,
  filters: [
    {
      name: 'status',
      title: 'Status',
      options: CHOICES.listDeliveries.status,
    },
    { name: 'channel', title: 'Channel', options: 'channels' },
    { name: 'session', title: 'Session' },
    { name: 'q', title: 'Id or text' },
  ],
  idOf: ({ id }) => id,
  panel: (id, close) => <DeliveryDetails key={id} id={id} onClose={close} />,
  bulk: {
    target: 'deliveries',
    actions: ['redrive', 'discard'],
    filterOf: ({ status, ...rest }) => (status === undefined ? rest : { ...rest, status: status.split(',') }),
  },
  empty: {
    text: (
      <>
        There is no delivery yet. A reply is delivered when its message has <code>deliver.url</code>, or{' '}
        <code>channels.webhook.url</code> is set.
      </>
    ),
  },
};

const countQuery = queryOptions({ queryKey: ['deliveries', 'count'], queryFn: () => api.countDeliveries() });

export function Deliveries(): ReactElement {
  return (
    <ListScreen
      list={DELIVERIES}
      // Shown together: counts that arrived later would move the list.
      isReady={haveBegun(useQuery(countQuery))}
      above={<Counts />}
    />
  );
}

/** How many there are of each status, and how old the oldest is; each leads to those. */
function Counts(): ReactElement {
  const { data } = useQuery(countQuery);
  if (data === undefined) return <p className="soft">Counting…</p>;
  return (
    <ul className="row plain-list" aria-label="By status">
      {data.items
        .filter(({ count }) => count > 0)
        .map(({ status, count, isCapped, oldestAt }) => (
          <li key={status}>
            <Link to="/deliveries" search={{ status }}>
              {countText(count)}
              {isCapped && '+'} {status}
            </Link>{' '}
            <span className="soft">
              oldest <Age at={oldestAt} />
            </span>
          </li>
        ))}
    </ul>
  );
}
