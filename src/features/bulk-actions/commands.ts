// `holdfast bulk`: one decision about many turns, messages, deliveries or dead letters.
import type { BulkActionView, BulkItemView } from './contract.ts';
import { BULK_TARGETS, BULK_VERBS } from './rules.ts';
import type { ApiClient } from '../../cli/api-client.ts';
import { EXIT, usageError, type ExitCode } from '../../cli/cli-error.ts';
import { command, lists, prints, type Words } from '../../cli/command.ts';
import { isSure } from '../../cli/is-sure.ts';
import { commaSeparated, pages, wholeNumber } from '../../cli/options.ts';
import { pollUntilEnd } from '../../cli/poll-until-end.ts';
import { printFields } from '../../cli/print.ts';
import type { Terminal } from '../../cli/terminal.ts';
import { pastTime } from '../../cli/time-option.ts';

const PAGE_ITEMS_MAX = 200;
const PER_SECOND_MAX = 1_000;
const REASONS_SHOWN = 200;

export const words: Words = {
  bulk: {
    run: command({
      summary: 'apply an action to everything that the options select, and follow it; Ctrl-C leaves it running',
      takes: {
        action: ['<action>', 'what is done', BULK_VERBS],
        target: ['<target>', 'what it is done to', BULK_TARGETS],
        session: ['--session <key>', 'only of this session'],
        status: [
          '--status <statuses>',
          'only turns or deliveries with these statuses, separated by commas',
          commaSeparated,
        ],
        kind: ['--kind <kind>', 'only turns or dead letters of this kind'],
        lane: ['--lane <lane>', 'only turns of this lane'],
        since: ['--since <time>', 'only turns started since: ISO 8601, or a duration such as 30m', pastTime],
        agent: ['--agent <id>', 'only turns of this agent'],
        model: ['--model <model>', 'only turns of this model'],
        code: ['--code <code>', 'only turns or dead letters with this error code'],
        ids: ['--ids <ids>', 'these ids, separated by commas', commaSeparated],
        all: ['--all', 'all objects of the target, if no other option selects some'],
        canary: ['--canary', 'retry or redrive one first; the others follow if it succeeds'],
        perSecond: ['--per-second <count>', 'maximum number per second', wholeNumber(1, PER_SECOND_MAX)],
        reason: ['--reason <text>', 'the reason, stored with the action'],
        dryRun: ['--dry-run', 'only count the matching objects'],
        yes: ['--yes', 'start without asking for confirmation'],
      },
      async run({ action, target, canary, perSecond, reason, dryRun, yes, ids, all, ...filter }, api, terminal) {
        // Nothing is done to everything by mistake: at least one option has to choose.
        if (ids === undefined && all !== true && Object.values(filter).every((value) => value === undefined)) {
          throw usageError(
            'no option selects objects',
            'pass --ids, a filter such as --status failed, or --all; with --dry-run to count first',
            'nothing_chosen',
          );
        }
        const about = { action, target, ...(ids === undefined ? { filter } : { ids }) };
        const counted = await api.call('createBulkAction', { ...about, dryRun: true });
        const what = `${action} ${counted.total} ${target}`;
        if (dryRun === true) {
          if (terminal.isJson) terminal.json(counted);
          else terminal.print(`${what}; nothing was done`);
          return EXIT.ok;
        }
        if (yes !== true && !(await isSure(`${what}?`, terminal))) return EXIT.interrupted;
        const submitted = await api.call('createBulkAction', { ...about, perSecond, canary, reason });
        return followBulk(api, 'id' in submitted ? submitted.id : '', terminal);
      },
    }),
    list: command({
      summary: 'list bulk actions, newest first',
      takes: pages(PAGE_ITEMS_MAX),
      run: lists('listBulkActions', (terminal) => [
        { title: 'ID', value: (row) => row.id },
        { title: 'ACTION', value: (row) => `${row.action} ${row.target}` },
        { title: 'STATUS', value: (row) => row.status },
        { title: 'DONE', value: (row) => row.done },
        { title: 'SKIPPED', value: (row) => row.skipped },
        { title: 'FAILED', value: (row) => row.failed },
        { title: 'OF', value: (row) => row.total },
        { title: 'BY', value: (row) => row.createdBy, dropOrder: 2 },
        { title: 'CREATED', value: (row) => terminal.time(row.createdAt), dropOrder: 1 },
      ]),
    }),
    show: command({
      summary: 'print one bulk action, and the items that it skipped or failed',
      takes: { id: ['<id>'] },
      async run({ id }, api, terminal) {
        const action = await api.getBulkAction({ id });
        const left: BulkItemView[] = [];
        for (const status of ['skipped', 'failed'] as const)
          left.push(...(await api.listBulkItems({ id, status, limit: REASONS_SHOWN })).items);
        if (terminal.isJson) return terminal.json({ ...action, left });
        printFields(terminal, {
          action: `${action.action} ${action.target}`,
          status: action.status,
          progress: formatProgress(action),
          reason: action.reason,
          by: action.createdBy,
        });
        for (const item of left) terminal.print(`${item.id}  ${item.status}: ${item.reason ?? ''}`);
      },
    }),
    cancel: command({
      summary: 'stop an action; finished items are not undone',
      takes: { id: ['<id>'] },
      run: prints('cancelBulkAction', (action) => `${action.status}: ${formatProgress(action)}`),
    }),
  },
};

const POLL_MS = 500;

/** Follows an action until it has ended; the exit code says how. Ctrl-C leaves it running. */
export async function followBulk(api: ApiClient, id: string, terminal: Terminal): Promise<ExitCode> {
  let shown = '';
  const exit = await pollUntilEnd({ read: () => api.getBulkAction({ id }), everyMs: POLL_MS }, (action) => {
    if (action.endedAt !== null) return end(action, terminal);
    const line = formatProgress(action);
    if (line !== shown) terminal.note(line);
    shown = line;
    return null;
  });
  if (exit === EXIT.interrupted) terminal.note(`the action continues: holdfast bulk show ${id}`);
  return exit;
}

function formatProgress({ total, done, skipped, failed }: BulkActionView): string {
  const percent = total === 0 ? 100 : Math.floor(((done + skipped + failed) / total) * 100);
  return `${percent} %: ${done} done, ${skipped} skipped, ${failed} failed of ${total}`;
}

function end(action: BulkActionView, terminal: Terminal): ExitCode {
  if (terminal.isJson) terminal.json(action);
  else terminal.print(formatProgress(action));
  if (action.status === 'canary_failed') terminal.note('the first one did not end well, so the others were left');
  if (action.skipped + action.failed > 0) terminal.note(`reasons: holdfast bulk show ${action.id}`);
  if (action.status !== 'completed') return EXIT.turnAborted;
  return action.skipped + action.failed > 0 ? EXIT.partly : EXIT.ok;
}
