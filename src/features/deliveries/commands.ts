// `holdfast deliveries`: the outbox, and what to do with what could not be sent.
import { command, lists, prints, type Words } from '../../cli/command.ts';
import type { DeliveryDetails, DeliveryView } from './contract.ts';
import { ITS_ID, pages } from '../../cli/options.ts';
import type { Style } from '../../cli/table.ts';
import type { Terminal } from '../../cli/terminal.ts';

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
        { title: 'WHAT', value: (row) => row.title, dropOrder: 6, isProse: true },
        { title: 'SESSION', value: (row) => row.sessionTitle, dropOrder: 2, isProse: true },
        { title: 'TO', value: placeOf, dropOrder: 3 },
        { title: 'TRIES', value: (row) => row.attempts, dropOrder: 4 },
        { title: 'CREATED', value: (row) => terminal.time(row.createdAt), dropOrder: 5 },
        { title: 'LAST ERROR', value: (row) => row.lastError, dropOrder: 1, isProse: true },
      ]),
    }),
    show: command({
      summary: 'print a delivery with its attempts and its text',
      takes: ITS_ID,
      run: prints('getDelivery', formatDelivery),
    }),
    send: command({
      summary: 'send a delivery that waits for its next attempt now; when it was sent, others to its receiver follow',
      takes: ITS_ID,
      run: prints('sendDelivery', (_answer, _terminal, { id }) => `${id} is sent now`),
    }),
    redrive: command({
      summary: 'send a delivery again that failed, expired or was discarded',
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

function formatDelivery(delivery: DeliveryDetails, terminal: Terminal): string {
  const { id, status, sessionKey, turnId, attempts, dueAt, expiresAt, lastError, target, payload, log } = delivery;
  const waits = status === 'pending' ? `next ${terminal.time(dueAt)}, expires ${terminal.time(expiresAt)}` : null;
  const lines: [string, string | null | undefined][] = [
    ['session', sessionKey],
    ['turn', turnId],
    ['to', target?.url === undefined ? placeOf(delivery) : `${placeOf(delivery)} ${target.url}`],
    ['attempts', waits === null ? String(attempts) : `${attempts}, ${waits}`],
    ['last error', lastError],
    ['text', payload.text],
  ];
  const tries = log.map((one) => `  ${one.attempt}  ${terminal.time(one.at)}  ${one.status}  ${one.httpStatus ?? '-'}`);
  const facts = lines.flatMap(([name, value]) => (value ? [`  ${name.padEnd(12)}${value}`] : []));
  return [`${id}  ${status}`, ...facts, ...tries].join('\n');
}
