// `holdfast sessions delete` and `holdfast subjects delete`: everything of a conversation, or of a person, is removed.
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import { isSure } from '../is-sure.ts';
import type { EraseOptions, SubjectOptions } from '../session-commands.ts';
import type { Terminal } from '../terminal.ts';

interface Removed {
  removed: Record<string, number>;
  files: number;
}

/** Counts what would be removed, asks, and removes it. */
export async function runSessionsDelete(
  key: string,
  options: EraseOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const api = connectApi(flags);
  const planned = await api.eraseSession({ key, dryRun: true });
  if (Object.keys(planned.removed).length === 0) throw nothingOf(`session ${key}`);
  if (options.dryRun === true) {
    report(planned, 'would be removed', terminal);
    return EXIT.ok;
  }
  terminal.note(linesOf(planned).join('\n'));
  if (options.yes !== true && !(await isSure(`Erase ${planned.key} for good?`, terminal))) return EXIT.interrupted;
  report(await api.eraseSession(fromOptions({ key, reason: options.reason })), 'removed', terminal);
  return EXIT.ok;
}

/** The same for all sessions in which only this person has written. */
export async function runSubjectsDelete(
  senderId: string,
  options: SubjectOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const api = connectApi(flags);
  const about = { senderId, channel: options.channel, shared: options.shared };
  const planned = await api.eraseSubject(fromOptions({ ...about, dryRun: true }));
  const { batchItems } = planned;
  if (planned.sessions.length + planned.shared.length + batchItems === 0)
    throw nothingOf(`person with the sender id ${senderId}`);
  const isDry = options.dryRun === true;
  if (!isDry) {
    const keys = planned.sessions.map(({ key }) => key);
    terminal.note(keys.length === 0 ? 'no session is to be erased' : keys.join('\n'));
    const items = batchItems === 0 ? '' : ` and ${batchItems} items of batches`;
    if (options.yes !== true && !(await isSure(`Erase ${keys.length} sessions${items} for good?`, terminal)))
      return EXIT.interrupted;
  }
  const erased = isDry ? planned : await api.eraseSubject(fromOptions({ ...about, reason: options.reason }));
  if (terminal.isJson) terminal.json(erased);
  else printErased(erased, isDry ? 'would be removed' : 'removed', terminal);
  for (const key of erased.shared) terminal.note(`kept, because others have written there: ${key}`);
  return erased.shared.length === 0 ? EXIT.ok : EXIT.partly;
}

function printErased(
  { sessions, batchItems }: { sessions: (Removed & { key: string })[]; batchItems: number },
  verb: string,
  terminal: Terminal,
): void {
  for (const one of sessions) report(one, verb, terminal);
  if (batchItems > 0) terminal.print(`items of batches: ${verb}\n  ${batchItems} of batch_items`);
}

function report(erased: Removed & { key: string }, verb: string, terminal: Terminal): void {
  if (terminal.isJson) terminal.json(erased);
  else terminal.print([`${erased.key}: ${verb}`, ...linesOf(erased)].join('\n'));
}

function linesOf({ removed, files }: Removed): string[] {
  const rows = Object.entries(removed).map(([table, count]) => `  ${count} of ${table}`);
  return files === 0 ? rows : [...rows, `  ${files} files`];
}

function nothingOf(what: string): CliError {
  return new CliError({
    code: 'not_found',
    exitCode: EXIT.notFound,
    message: `there is nothing of a ${what}`,
    fix: 'see `holdfast sessions list`',
  });
}
