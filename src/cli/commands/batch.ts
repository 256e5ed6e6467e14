// `holdfast batch`: batches and their items, listed, shown and controlled.
import type { BatchView as BatchAnswer, BatchItemView as BatchItemAnswer } from '../../contract/batches.ts';
import { connectApi, fromOptions, type ApiClient, type ClientFlags } from '../api-client.ts';
import type { BatchControlOptions, BatchItemsOptions, BatchVerb } from '../batch-commands.ts';
import { costText, doneOf, dollarsText } from '../batch-progress.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { isSureAtTerminal } from '../is-sure.ts';
import type { PageOptions } from '../options.ts';
import { printFields, printList } from '../print.ts';
import type { Style } from '../style.ts';
import type { Terminal } from '../terminal.ts';

const ITEM_STYLES: Record<string, Style> = { answered: 'green', failed: 'red', expired: 'red', cancelled: 'yellow' };

/** Lists batches, newest first. */
export async function runBatchList(
  options: PageOptions & { status?: string },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).listBatches(fromOptions(options));
  printList<BatchAnswer>(
    body,
    [
      { title: 'BATCH', value: (row) => row.id },
      { title: 'NAME', value: (row) => row.name ?? '', dropOrder: 3 },
      { title: 'STATUS', value: (row) => row.outcome ?? row.pauseReason ?? row.status },
      { title: 'DONE', value: (row) => `${doneOf(row)}/${row.counts.total}`, align: 'right' },
      { title: 'FAILED', value: (row) => String(row.counts.failed + row.counts.expired), align: 'right', dropOrder: 1 },
      { title: 'COST', value: costText, align: 'right', dropOrder: 2 },
      { title: 'CREATED', value: (row) => terminal.time(row.createdAt), dropOrder: 4 },
    ],
    terminal,
  );
  return EXIT.ok;
}

/** Prints one batch. */
export async function runBatchShow(id: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).getBatch({ id });
  if (terminal.isJson) terminal.json(body);
  else printBatch(body, terminal);
  return EXIT.ok;
}

function printBatch(batch: BatchAnswer, terminal: Terminal): void {
  const { counts, eta } = batch;
  printFields(terminal, {
    id: batch.id,
    name: batch.name,
    status: batch.outcome === null ? batch.status : `${batch.status}: ${batch.outcome}`,
    paused: batch.pauseReason === null ? null : `${batch.pauseReason}. ${batch.pauseDetail ?? ''}`,
    via: batch.via,
    items: Object.entries(counts)
      .filter(([name, count]) => name === 'total' || count > 0)
      .map(([name, count]) => `${count} ${name}`)
      .join(', '),
    slots:
      batch.endedAt === null && batch.via !== 'provider-batch'
        ? `${batch.slots} of all workers, for all batches`
        : null,
    rate: batch.ratePerMinute === null ? null : `${Math.round(batch.ratePerMinute)} per minute`,
    eta: eta === null ? null : `${terminal.time(eta.from)} to ${terminal.time(eta.to)}`,
    cost: `${costText(batch)}${batch.maxCostUsd === null ? '' : ` of ${dollarsText(batch.maxCostUsd)}`}`,
    expected:
      batch.endedAt === null && batch.expectedCostUsd !== null ? `${dollarsText(batch.expectedCostUsd)} in all` : null,
    live: batch.via === 'live' ? null : liveText(batch, terminal),
    created: terminal.time(batch.createdAt),
    ended: batch.endedAt === null ? null : terminal.time(batch.endedAt),
  });
  for (const { code, count, sample } of batch.errors)
    terminal.print(`${terminal.paint('red', code)}  ${count}×  ${sample}`);
  for (const { n, via, requests, cacheHitRate, costUsd, reason } of batch.hops) {
    const hits = cacheHitRate === null ? '' : `, ${Math.round(cacheHitRate * 100)} % from the cache`;
    terminal.print(
      `round ${n}  ${via}  ${requests} requests${hits}, ${costText({ costUsd, simulated: batch.simulated })}  ${reason}`,
    );
  }
}

/** The cost of the batch compared with live calls, also when it was more expensive. */
function liveText({ liveCostUsd, savedPercent, cacheHitRate }: BatchAnswer, terminal: Terminal): string | null {
  if (liveCostUsd === null || savedPercent === null) return null;
  const change =
    savedPercent >= 0 ? `${savedPercent} % saved` : terminal.paint('red', `${-savedPercent} % more expensive`);
  const hits = cacheHitRate === null ? '' : `, ${Math.round(cacheHitRate * 100)} % of prompts read from the cache`;
  return `${dollarsText(liveCostUsd)} in live calls: ${change}${hits}`;
}

/** Lists the items of a batch. */
export async function runBatchItems(
  id: string,
  options: BatchItemsOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).listBatchItems(fromOptions({ id, ...options }));
  printList<BatchItemAnswer>(
    body,
    [
      { title: 'N', value: (row) => String(row.n), align: 'right' },
      { title: 'CUSTOM ID', value: (row) => row.customId ?? '', dropOrder: 2 },
      { title: 'STATUS', value: (row) => row.status, style: (row) => ITEM_STYLES[row.status] },
      { title: 'TRY', value: (row) => String(row.attempt), align: 'right', dropOrder: 3 },
      { title: 'COST', value: costText, align: 'right', dropOrder: 4 },
      { title: 'WHY', value: (row) => row.error?.message ?? row.why?.text ?? '', dropOrder: 1, isProse: true },
      { title: 'TURN', value: (row) => row.turnId ?? '', dropOrder: 5 },
    ],
    terminal,
  );
  return EXIT.ok;
}

const CONTROLS = {
  pause: 'pauseBatch',
  resume: 'resumeBatch',
  cancel: 'cancelBatch',
  'retry-failed': 'retryFailedItems',
} as const satisfies Record<BatchVerb, string>;

/** Pauses, resumes or cancels a batch, or retries its failed items. */
export async function runBatchControl(
  verb: BatchVerb,
  id: string,
  options: BatchControlOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const { dryRun, yes, ...request } = options;
  const api = connectApi(flags);
  if (verb === 'cancel' || verb === 'retry-failed') {
    if (dryRun === true) {
      const total = await countMeant(api, verb, { id, ...request });
      if (terminal.isJson) terminal.json({ dryRun: true, total });
      else terminal.print(`${verb} ${itemsText(total)}; nothing was done`);
      return EXIT.ok;
    }
    if (yes !== true && terminal.isTty) {
      const total = await countMeant(api, verb, { id, ...request });
      if (!(await isSureAtTerminal(`${verb} ${itemsText(total)} of batch ${id}?`, options, terminal)))
        return EXIT.interrupted;
    }
  }
  const body = await api[CONTROLS[verb]]({ id, body: request });
  if (terminal.isJson) terminal.json(body);
  else terminal.print(`${body.id}  ${body.outcome ?? body.status}  ${doneOf(body)}/${body.counts.total}`);
  return EXIT.ok;
}

/** How many items a command would cancel or run again. */
async function countMeant(
  api: ApiClient,
  verb: 'cancel' | 'retry-failed',
  { id, running, code, n }: BatchControlOptions & { id: string },
): Promise<number> {
  const { counts } = await api.getBatch({ id });
  if (verb === 'cancel') {
    return counts.pending + (running === 'stop' ? counts.waiting + counts.running + counts.parked : 0);
  }
  if (code === undefined && n === undefined) return counts.failed + counts.expired;
  let total = 0;
  for (const status of ['failed', 'expired'] as const) {
    for await (const item of api.each('listBatchItems', fromOptions({ id, status, code })))
      total += n === undefined || n.includes(item.n) ? 1 : 0;
  }
  return total;
}

function itemsText(total: number): string {
  return `${total} item${total === 1 ? '' : 's'}`;
}
