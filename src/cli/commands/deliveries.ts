// `holdfast deliveries`: the outbox, and what to do with what could not be sent.
import type { DeliveryView as DeliveryAnswer } from '../../contract/deliveries.ts';
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import type { PageOptions } from '../options.ts';
import { printList } from '../print.ts';
import type { Style } from '../style.ts';
import type { Terminal } from '../terminal.ts';

const STATUS_STYLES: Record<string, Style> = {
  sent: 'green',
  failed: 'red',
  expired: 'red',
  unknown: 'yellow',
  sending: 'cyan',
};

/** Lists deliveries, newest first. */
export async function runDeliveriesList(
  options: PageOptions & { session?: string; status?: string },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).listDeliveries(fromOptions(options));
  printList<DeliveryAnswer>(
    body,
    [
      { title: 'DELIVERY', value: (row) => row.id },
      { title: 'STATUS', value: (row) => row.status, style: (row) => STATUS_STYLES[row.status] },
      { title: 'SESSION', value: (row) => row.sessionKey, dropOrder: 2 },
      { title: 'TO', value: (row) => row.channel, dropOrder: 3 },
      { title: 'TRIES', value: (row) => String(row.attempts), align: 'right', dropOrder: 4 },
      { title: 'CREATED', value: (row) => terminal.time(row.createdAt), dropOrder: 5 },
      { title: 'LAST ERROR', value: (row) => row.lastError ?? '', dropOrder: 1, isProse: true },
    ],
    terminal,
  );
  return EXIT.ok;
}

/** Sends one again, or gives it up. */
export async function runDeliveryAction(
  verb: 'redrive' | 'discard',
  id: string,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const api = connectApi(flags);
  const body = await (verb === 'redrive' ? api.redriveDelivery({ id }) : api.discardDelivery({ id }));
  if (terminal.isJson) terminal.json(body);
  else terminal.print(`${id} ${verb === 'redrive' ? 'is sent again' : 'is discarded'}`);
  return EXIT.ok;
}
