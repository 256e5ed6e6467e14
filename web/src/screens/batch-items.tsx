// The items of a batch in input order, with filters in the URL.
import type { ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api, type BatchItem } from '../api.ts';
import { microsOf } from '../format/amounts.ts';
import { Cost, Status } from '../parts/bits.tsx';
import type { Column } from '../parts/data-table.tsx';
import { KeyLink, TurnLink } from '../parts/links.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { SafeText } from '../parts/safe-text.tsx';

const COLUMNS: readonly Column<BatchItem>[] = [
  { title: 'Item', width: '70px', isNumber: true, cell: ({ n }) => n },
  { title: 'Status', width: '110px', cell: ({ status }) => <Status status={status} /> },
  { title: 'Id', width: 'minmax(100px, 1fr)', cell: ({ customId }) => <SafeText text={customId ?? ''} /> },
  {
    title: 'Session',
    width: 'minmax(140px, 2fr)',
    cell: ({ sessionKey, messageId }) =>
      // Before its first message an item has no session.
      messageId === null ? <SafeText text={sessionKey} /> : <KeyLink sessionKey={sessionKey} />,
  },
  {
    title: 'Turn',
    width: '110px',
    cell: ({ turnId }) => (turnId === null ? '' : <TurnLink id={turnId} />),
  },
  { title: 'Attempt', width: '72px', isNumber: true, cell: ({ attempt }) => attempt },
  {
    title: 'Cost',
    width: '124px',
    isNumber: true,
    cell: ({ costUsd, simulated, turnId }) =>
      turnId === null ? '' : <Cost of={{ costMicros: microsOf(costUsd), simulated }} isInColumn />,
  },
  {
    title: 'Why',
    width: 'minmax(140px, 3fr)',
    cell: ({ error, why }) => <SafeText text={error?.message ?? why?.text ?? ''} />,
  },
];

const ITEMS: List<BatchItem> = {
  title: 'Items',
  noun: 'item',
  // Not below `batches`: events do not read the pages again, the button does.
  key: ['batch-items'],
  read: ({ id = '', status, code, q }, page, signal) =>
    api.listBatchItems({ id, status: status as BatchItem['status'], code, q, ...page }, { signal }),
  columns: COLUMNS,
  filters: [
    {
      name: 'status',
      title: 'Status',
      options: CHOICES.listBatchItems.status,
    },
    { name: 'code', title: 'Error code' },
    { name: 'q', title: 'Id, session or text' },
  ],
  idOf: ({ n }) => String(n),
  pathOf: ({ turnId }) => turnId && `/turns/${turnId}`,
  empty: { text: 'No item fits.' },
};

export function BatchItems({ id }: { id: string }): ReactElement {
  return (
    <section className="items" aria-labelledby="part">
      <ListScreen list={ITEMS} fixed={{ id }} />
    </section>
  );
}
