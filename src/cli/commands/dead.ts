// `holdfast dead`: failed work, grouped by its error, and the actions on it.
import type {
  DeadLetterView as DeadLetterAnswer,
  DeadLetterGroupView as DeadLetterGroupAnswer,
  RedrivenLetters as RedrivenAnswer,
  DiscardedLetters as DiscardedAnswer,
} from '../../contract/dead-letters.ts';
import { connectApi, fromOptions, type ApiClient, type ClientFlags } from '../api-client.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import type { DeadActionOptions, DeadListOptions } from '../dead-commands.ts';
import { isSureAtTerminal } from '../is-sure.ts';
import { followBulk } from '../follow-bulk.ts';
import { idOfEnd } from '../id-of-end.ts';
import { printList } from '../print.ts';
import type { Terminal } from '../terminal.ts';
import { isIdEnd, isUuid } from '../../core/ids.ts';

const GROUPS_MAX = 200;

/** Lists the groups of open letters. */
export async function runDeadList(options: DeadListOptions, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).listDeadLetters(fromOptions(options));
  printList<DeadLetterGroupAnswer>(
    body,
    [
      { title: 'CODE', value: (row) => row.code, style: () => 'red' },
      { title: 'OF', value: (row) => row.kind },
      { title: 'COUNT', value: (row) => String(row.count), align: 'right' },
      { title: 'LAST', value: (row) => terminal.time(row.lastAt), dropOrder: 2 },
      { title: 'NEWEST REASON', value: (row) => row.letters[0]?.reason ?? '', dropOrder: 1, isProse: true },
    ],
    terminal,
  );
  return EXIT.ok;
}

/** Shows the newest letters of a code, or one letter. */
export async function runDeadShow(which: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const api = connectApi(flags);
  const letters = await lettersOf(api, await wholeOf(api, which));
  if (letters.length === 0) {
    throw new CliError({
      code: 'not_found',
      exitCode: EXIT.notFound,
      message: `There is no open dead letter ${which}.`,
      fix: 'Run "holdfast dead list" to see the codes.',
    });
  }
  if (terminal.isJson) {
    terminal.json(letters);
    return EXIT.ok;
  }
  terminal.table<DeadLetterAnswer>(
    [
      { title: 'LETTER', value: (row) => row.id },
      { title: 'SESSION', value: (row) => row.sessionKey ?? '', dropOrder: 2 },
      { title: 'TURN OR DELIVERY', value: (row) => row.deliveryId ?? row.turnId ?? '', dropOrder: 3 },
      { title: 'CREATED', value: (row) => terminal.time(row.createdAt), dropOrder: 4 },
      { title: 'REASON', value: (row) => row.reason, dropOrder: 1, isProse: true },
    ],
    letters,
  );
  return EXIT.ok;
}

/** Redrives or discards the open letters of a code, or one letter. Exit 9 when some were skipped. */
export async function runDeadAction(
  request: DeadActionOptions & { verb: 'redrive' | 'discard'; which: string },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const { verb, canary, perSecond, reason, dryRun, yes } = request;
  const api = connectApi(flags);
  const which = await wholeOf(api, request.which);
  if (dryRun === true) {
    const meant = await meantBy(api, which);
    if (terminal.isJson) terminal.json({ dryRun: true, total: meant.total });
    else terminal.print(`${verb} ${textOf(meant)}; nothing was done`);
    return EXIT.ok;
  }
  if (yes !== true && terminal.isTty) {
    const meant = await meantBy(api, which);
    if (meant.total > 1 && !(await isSureAtTerminal(`${verb} ${textOf(meant)}?`, request, terminal)))
      return EXIT.interrupted;
  }
  const body = { ...(isUuid(which) ? { ids: [which] } : { code: which }), canary, perSecond, reason };
  const answer = await (verb === 'redrive'
    ? api.redriveDeadLetters({ body: fromOptions(body) })
    : api.discardDeadLetters({ body: fromOptions(body) }));
  if ('id' in answer) return followBulk(api, answer.id, terminal);
  const done: Partial<RedrivenAnswer & DiscardedAnswer> = answer;
  if (terminal.isJson) terminal.json(done);
  else if (verb === 'discard') terminal.print(`${done.discarded ?? 0} discarded`);
  else terminal.print(`${done.redriven ?? 0} redriven, ${done.skipped ?? 0} skipped, ${done.remaining ?? 0} remaining`);
  for (const letter of done.letters ?? []) if (letter.reason !== null) terminal.note(`${letter.id}: ${letter.reason}`);
  return (done.skipped ?? 0) + (done.remaining ?? 0) > 0 ? EXIT.partly : EXIT.ok;
}

/** The id that a text is the end of; any other text as it is. */
async function wholeOf(api: ApiClient, which: string): Promise<string> {
  return isIdEnd(which) ? idOfEnd(api, which, 'deadLetter') : which;
}

/** The number of open letters that a command concerns, and the reason of the newest. */
async function meantBy(api: ApiClient, which: string): Promise<{ total: number; sample: string | null }> {
  if (isUuid(which)) {
    const letters = await lettersOf(api, which);
    return { total: letters.length, sample: letters[0]?.reason ?? null };
  }
  const groups = (await api.listDeadLetters({ limit: GROUPS_MAX, code: which })).items;
  return {
    total: groups.reduce((sum, { count }) => sum + count, 0),
    sample: groups[0]?.letters[0]?.reason ?? null,
  };
}

function textOf({ total, sample }: { total: number; sample: string | null }): string {
  return `${total} dead letter${total === 1 ? '' : 's'}${sample === null ? '' : ` (the newest: ${sample})`}`;
}

async function lettersOf(api: ApiClient, which: string): Promise<DeadLetterAnswer[]> {
  const byId = isUuid(which);
  const body = await api.listDeadLetters({ limit: GROUPS_MAX, ...(byId ? {} : { code: which }) });
  const letters = body.items.flatMap((group) => group.letters);
  return byId ? letters.filter(({ id }) => id === which.toLowerCase()) : letters;
}
