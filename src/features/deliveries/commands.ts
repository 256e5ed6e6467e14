// `holdfast deliveries`: the outbox, and what to do with what could not be sent.
import { command, lists, prints, type Words } from '../../cli/command.ts';
import type { DeliveryView } from './contract.ts';
import { ITS_ID, pages } from '../../cli/options.ts';
import type { Style } from '../../cli/table.ts';

const STATUS_STYLES: Record<string, Style> = {
  sent: 'green',
  failed: 'red',
  expired: 'red',
  unknown: 'yellow',
  sending: 'cyan',
};

/** The chat and the part, or the channel: `telegram/main/-100123 2/3`. */
function placeOf({ channel, conversation, part, parts }: DeliveryView): string {
  const place = conversation ?? channel;
  return parts > 1 ? `${place} ${part}/${parts}` : place;
}

export const words: Words = {
  deliveries: {
    list: command({
      summary: 'list deliveries, newest first',
      takes: {
        ...pages(),
        session: ['--session <key>', 'only this session'],
        status: ['--status <status>', 'only this status, such as failed'],
      },
      run: lists('listDeliveries', (terminal) => [
        { title: 'DELIVERY', value: (row) => row.id },
        { title: 'STATUS', value: (row) => row.status, style: (row) => STATUS_STYLES[row.status] },
        { title: 'SESSION', value: (row) => row.sessionKey, dropOrder: 2 },
        { title: 'TO', value: placeOf, dropOrder: 3 },
        { title: 'TRIES', value: (row) => row.attempts, dropOrder: 4 },
        { title: 'CREATED', value: (row) => terminal.time(row.createdAt), dropOrder: 5 },
        { title: 'LAST ERROR', value: (row) => row.lastError, dropOrder: 1, isProse: true },
      ]),
    }),
    redrive: command({
      summary: 'send a delivery again',
      takes: ITS_ID,
      run: prints('redriveDelivery', (_answer, _terminal, { id }) => `${id} is sent again`),
    }),
    discard: command({
      summary: 'discard a delivery',
      takes: ITS_ID,
      run: prints('discardDelivery', (_answer, _terminal, { id }) => `${id} is discarded`),
    }),
  },
};
