// `holdfast bulk`: one decision about many turns, messages, deliveries or dead letters.
import type {
  BulkActionView as BulkActionAnswer,
  BulkItemView as BulkItemAnswer,
} from '../../contract/bulk-actions.ts';
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import type { BulkRunOptions } from '../bulk-commands.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import { isSure } from '../is-sure.ts';
import { followBulk, lineOf } from '../follow-bulk.ts';
import type { PageOptions } from '../options.ts';
import { printFields, printList } from '../print.ts';
import { pastTime } from '../time-option.ts';
import type { Terminal } from '../terminal.ts';

const REASONS_SHOWN = 200;

/** Submits an action and follows it. */
export async function runBulk(
  { action, target }: { action: string; target: string },
  options: BulkRunOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const { perSecond, canary, reason } = options;
  const api = connectApi(flags);
  const about = { action, target, ...selectionOf(options) };
  const counted = await api.createBulkAction({ body: fromOptions({ ...about, dryRun: true }) });
  const total = counted.total;
  if (options.dryRun === true) {
    if (terminal.isJson) terminal.json(counted);
    else terminal.print(`${action} ${total} ${target}; nothing was done`);
    return EXIT.ok;
  }
  if (options.yes !== true && !(await isSure(`${action} ${total} ${target}?`, terminal))) return EXIT.interrupted;
  const body = fromOptions<object>({ ...about, perSecond, canary, reason });
  const submitted = await api.createBulkAction({ body: fromOptions(body) });
  return followBulk(api, 'id' in submitted ? submitted.id : '', terminal);
}

/** The ids or the filter; at least one option has to choose, so that nothing is done to everything by mistake. */
function selectionOf(options: BulkRunOptions): object {
  const { session, status, kind, lane, since, agent, model, code, ids, all } = options;
  if (ids !== undefined) return { ids: ids.split(',') };
  const from = since === undefined ? undefined : pastTime(since);
  const filter = { session, status: status?.split(','), kind, lane, since: from, agent, model, code };
  if (Object.values(filter).some((value) => value !== undefined) || all === true) return { filter };
  throw new CliError({
    code: 'nothing_chosen',
    exitCode: EXIT.usage,
    message: 'no option selects objects',
    fix: 'pass --ids, a filter such as --status failed, or --all; with --dry-run to count first',
  });
}

/** Lists actions, newest first. */
export async function runBulkList(options: PageOptions, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const list = await connectApi(flags).listBulkActions(fromOptions({ ...options }));
  printList<BulkActionAnswer>(
    list,
    [
      { title: 'ID', value: (row) => row.id },
      { title: 'ACTION', value: (row) => `${row.action} ${row.target}` },
      { title: 'STATUS', value: (row) => row.status },
      { title: 'DONE', value: (row) => String(row.done), align: 'right' },
      { title: 'SKIPPED', value: (row) => String(row.skipped), align: 'right' },
      { title: 'FAILED', value: (row) => String(row.failed), align: 'right' },
      { title: 'OF', value: (row) => String(row.total), align: 'right' },
      { title: 'BY', value: (row) => row.createdBy, dropOrder: 2 },
      { title: 'CREATED', value: (row) => terminal.time(row.createdAt), dropOrder: 1 },
    ],
    terminal,
  );
  return EXIT.ok;
}

/** Shows an action, and the items that it could not execute. */
export async function runBulkShow(id: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const api = connectApi(flags);
  const action = await api.getBulkAction({ id });
  const left: BulkItemAnswer[] = [];
  for (const status of ['skipped', 'failed'] as const) {
    left.push(...(await api.listBulkItems({ id, status, limit: REASONS_SHOWN })).items);
  }
  if (terminal.isJson) {
    terminal.json({ ...action, left });
    return EXIT.ok;
  }
  const { status, reason, createdBy } = action;
  printFields(terminal, {
    action: `${action.action} ${action.target}`,
    status,
    progress: lineOf(action),
    reason,
    by: createdBy,
  });
  for (const item of left) terminal.print(`${item.id}  ${item.status}: ${item.reason ?? ''}`);
  return EXIT.ok;
}

/** Begins nothing more of an action. */
export async function runBulkCancel(id: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const action = await connectApi(flags).cancelBulkAction({ id });
  if (terminal.isJson) terminal.json(action);
  else terminal.print(`${action.status}: ${lineOf(action)}`);
  return EXIT.ok;
}
