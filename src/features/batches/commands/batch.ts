// `holdfast batch`: batches and their items, listed, shown and controlled. Their upload, their
// progress and their results have files of their own.
import type { BatchView } from '../contract.ts';
import { InvalidArgumentError } from 'commander';
import type { ApiClient } from '../../../cli/api-client.ts';
import { costText, moneyText } from '../../../core/words.ts';
import { countDone, watch } from './batch-watch.ts';
import { command, lists, prints, type Words } from '../../../cli/command.ts';
import { endOfPlan } from '../../../cli/is-sure.ts';
import { CAREFUL, ITS_ID, pages } from '../../../cli/options.ts';
import { NOTES_SIMULATED, printFields } from '../../../cli/print.ts';
import type { Style } from '../../../cli/table.ts';
import type { Terminal } from '../../../cli/terminal.ts';
import { results } from './batch-results.ts';
import { submit } from './batch-submit.ts';

const ITEM_STYLES: Record<string, Style> = { answered: 'green', failed: 'red', expired: 'red', cancelled: 'yellow' };

export const words: Words = {
  batch: {
    submit,
    list: command({
      summary: 'list batches, newest first',
      takes: { ...pages(), status: ['--status <status>', 'only in this state, such as running'] },
      run: lists(
        'listBatches',
        (terminal, _input, rows) => [
          { title: 'BATCH', value: (row) => row.id },
          { title: 'NAME', value: (row) => row.name, dropOrder: 3 },
          { title: 'STATUS', value: (row) => row.outcome ?? row.pauseReason ?? row.status },
          { title: 'DONE', value: (row) => `${countDone(row)}/${row.counts.total}`, align: 'right' },
          { title: 'FAILED', value: (row) => row.counts.failed + row.counts.expired, dropOrder: 1 },
          { title: 'COST', value: (row) => costText(row, rows), align: 'right', dropOrder: 2 },
          { title: 'CREATED', value: (row) => terminal.time(row.createdAt), dropOrder: 4 },
        ],
        NOTES_SIMULATED,
      ),
    }),
    show: command({
      summary: 'print one batch with its progress',
      takes: ITS_ID,
      run: prints('getBatch', printBatch),
    }),
    items: command({
      summary: 'list the items of a batch, in input order',
      takes: {
        ...ITS_ID,
        ...pages(),
        status: ['--status <status>', 'only in this state, such as failed'],
        code: ['--code <code>', 'only with this error code'],
      },
      run: lists(
        'listBatchItems',
        (_terminal, _input, rows) => [
          { title: 'N', value: (row) => row.n },
          { title: 'CUSTOM ID', value: (row) => row.customId, dropOrder: 2 },
          { title: 'STATUS', value: (row) => row.status, style: (row) => ITEM_STYLES[row.status] },
          { title: 'TRY', value: (row) => row.attempt, dropOrder: 3 },
          { title: 'COST', value: (row) => costText(row, rows), align: 'right', dropOrder: 4 },
          { title: 'WHY', value: (row) => row.error?.message ?? row.why?.text ?? '', dropOrder: 1, isProse: true },
          { title: 'TURN', value: (row) => row.turnId, dropOrder: 5 },
        ],
        NOTES_SIMULATED,
      ),
    }),
    watch,
    results,
    pause: command({
      summary: 'start no more items; items in flight finish',
      takes: ITS_ID,
      run: prints('pauseBatch', stateText),
    }),
    resume: command({
      summary: 'resume a paused batch',
      takes: ITS_ID,
      run: prints('resumeBatch', stateText),
    }),
    cancel: command({
      summary: 'cancel pending items',
      takes: {
        ...ITS_ID,
        ...CAREFUL,
        running: ['--running <what>', 'what happens to items in flight', ['stop', 'finish'], 'finish'],
      },
      async run({ dryRun, yes, ...request }, api, terminal) {
        const end = await endOfPlan({ dryRun, yes }, terminal, async () => {
          const { counts } = await api.getBatch({ id: request.id });
          const inFlight = request.running === 'stop' ? counts.waiting + counts.running + counts.parked : 0;
          return buildPlan('cancel', counts.pending + inFlight, request.id);
        });
        return end ?? cancel(request, api, terminal);
      },
    }),
    'retry-failed': command({
      summary: 'run failed and expired items again',
      takes: {
        ...ITS_ID,
        ...CAREFUL,
        code: ['--code <code>', 'only items with this error code'],
        n: ['--n <numbers>', 'only these items, separated by commas', parseNumbers],
      },
      async run({ dryRun, yes, ...request }, api, terminal) {
        const end = await endOfPlan({ dryRun, yes }, terminal, async () =>
          buildPlan('retry-failed', await countFailed(request, api), request.id),
        );
        return end ?? retryFailed(request, api, terminal);
      },
    }),
  },
};

const cancel = prints('cancelBatch', stateText);
const retryFailed = prints('retryFailedItems', stateText);

function buildPlan(verb: string, total: number, id: string) {
  return { total, text: `${verb} ${total} item${total === 1 ? '' : 's'}`, of: ` of batch ${id}` };
}

function stateText(batch: BatchView): string {
  return `${batch.id}  ${batch.outcome ?? batch.status}  ${countDone(batch)}/${batch.counts.total}`;
}

function printBatch(batch: BatchView, terminal: Terminal): void {
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
    cost: `${costText(batch)}${batch.maxCostUsd === null ? '' : ` of ${moneyText(batch.maxCostUsd)}`}`,
    expected:
      batch.endedAt === null && batch.expectedCostUsd !== null ? `${moneyText(batch.expectedCostUsd)} in all` : null,
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
function liveText({ liveCostUsd, savedPercent, cacheHitRate }: BatchView, terminal: Terminal): string | null {
  if (liveCostUsd === null || savedPercent === null) return null;
  const change =
    savedPercent >= 0 ? `${savedPercent} % saved` : terminal.paint('red', `${-savedPercent} % more expensive`);
  const hits = cacheHitRate === null ? '' : `, ${Math.round(cacheHitRate * 100)} % of prompts read from the cache`;
  return `${moneyText(liveCostUsd)} in live calls: ${change}${hits}`;
}

/** How many items would run again. */
async function countFailed(
  { id, code, n }: { id: string; code: string | undefined; n: number[] | undefined },
  api: ApiClient,
): Promise<number> {
  if (code === undefined && n === undefined) {
    const { counts } = await api.getBatch({ id });
    return counts.failed + counts.expired;
  }
  let total = 0;
  for (const status of ['failed', 'expired'] as const) {
    for await (const item of api.each('listBatchItems', { id, status, code }))
      total += n === undefined || n.includes(item.n) ? 1 : 0;
  }
  return total;
}

function parseNumbers(text: string): number[] {
  if (!/^\d{1,9}(?:,\d{1,9})*$/.test(text)) throw new InvalidArgumentError('It must be numbers such as 3,17.');
  return text.split(',').map(Number);
}
