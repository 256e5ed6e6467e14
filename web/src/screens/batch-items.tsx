// The items of a batch in input order, with filters in the URL.
import { lazy, type ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api, type BatchItem } from '../api.ts';
import { microsOf } from '../format/amounts.ts';
import { beginningOf } from '../format/long-text.ts';
import { Cost, Status } from '../parts/bits.tsx';
import type { Column } from '../parts/data-table.tsx';
import { KeyLink, TurnLink } from '../parts/links.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Words } from '../parts/short-key.tsx';

const TurnPanel = lazy(async () => ({ default: (await import('./turn-panel.tsx')).TurnPanel }));

/** An item with what was asked and answered. */
interface Row {
  item: BatchItem;
  /** Absent: it has not begun. */
  message: Message | undefined;
}
type Message = Awaited<ReturnType<typeof api.listMessages>>['items'][number];

/** Of a text, so much is shown. */
const SHOWN_CHARS = 200;

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Item', width: '52px', isNumber: true, cell: ({ item: { n } }) => n },
  { title: 'Status', width: '100px', isClear: true, cell: ({ item: { status } }) => <Status status={status} /> },
  { title: 'Id', width: 'minmax(100px, 1fr)', cell: ({ item: { customId } }) => <SafeText text={customId ?? ''} /> },
  {
    title: 'Text',
    width: 'minmax(140px, 3fr)',
    isClear: true,
    yields: true,
    cell: ({ message }) => <Words text={message && beginningOf(message.text, SHOWN_CHARS)} />,
  },
  {
    title: 'Answer',
    width: 'minmax(160px, 4fr)',
    isClear: true,
    cell: ({ item: { error, why }, message }) => (
      <span data-tone={error === null ? undefined : 'bad'}>
        <Words text={error?.message ?? why?.text ?? (message?.reply && beginningOf(message.reply, SHOWN_CHARS))} />
      </span>
    ),
  },
  {
    title: 'Session',
    width: 'minmax(140px, 2fr)',
    isExtra: true,
    cell: ({ item: { sessionKey, messageId } }) =>
      // Before its first message an item has no session.
      messageId === null ? <SafeText text={sessionKey} /> : <KeyLink sessionKey={sessionKey} />,
  },
  {
    title: 'Turn',
    width: '100px',
    cell: ({ item: { turnId } }) => (turnId === null ? '' : <TurnLink id={turnId} />),
  },
  { title: 'Attempt', width: '64px', isNumber: true, isExtra: true, cell: ({ item: { attempt } }) => attempt },
  {
    title: 'Cost',
    width: '100px',
    isNumber: true,
    yields: true,
    cell: ({ item: { costUsd, simulated, turnId } }) =>
      turnId === null ? '' : <Cost of={{ costMicros: microsOf(costUsd), simulated }} isInColumn />,
  },
];

const ITEMS: List<Row> = {
  title: 'Items',
  noun: 'item',
  // Not below `batches`: events do not read the pages again, the button does.
  key: ['batch-items'],
  async read({ id = '', status, code, q }, page, signal) {
    const { items, nextCursor } = await api.listBatchItems(
      { id, status: status as BatchItem['status'], code, q, ...page },
      { signal },
    );
    const ids = items.flatMap(({ messageId }) => messageId ?? []);
    const messages = ids.length === 0 ? [] : (await api.listMessages({ ids, limit: ids.length }, { signal })).items;
    const byId = new Map(messages.map((message) => [message.id, message]));
    return { items: items.map((item) => ({ item, message: byId.get(item.messageId ?? '') })), nextCursor };
  },
  hasChooser: true,
  columns: COLUMNS,
  filters: [
    {
      name: 'status',
      title: 'Status',
      options: CHOICES.listBatchItems.status,
    },
    { name: 'code', title: 'Error code', options: 'codes' },
    { name: 'q', title: 'Id, session or text' },
  ],
  idOf: ({ item: { n } }) => String(n),
  pathOf: ({ item: { turnId } }) => turnId && `/turns/${turnId}`,
  panel: (n, close, row) => row?.item.turnId && <TurnPanel key={n} id={row.item.turnId} onClose={close} />,
  empty: { text: 'No item fits.' },
};

export function BatchItems({ id }: { id: string }): ReactElement {
  return (
    <section className="items" aria-labelledby="part">
      <ListScreen list={ITEMS} fixed={{ id }} />
    </section>
  );
}
