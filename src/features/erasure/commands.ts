// `holdfast sessions delete` and `holdfast subjects delete`: everything of a conversation, or of a
// person, is removed.
import { CliError, EXIT, notFound } from '../../cli/cli-error.ts';
import { command, type Words } from '../../cli/command.ts';
import { isSure } from '../../cli/is-sure.ts';
import { ITS_KEY } from '../../cli/options.ts';
import type { Terminal } from '../../cli/terminal.ts';

const ERASING = {
  dryRun: ['--dry-run', 'only count what would be removed'],
  yes: ['--yes', 'remove it without a question'],
  reason: ['--reason <text>', 'the reason, stored in the audit log'],
} as const;

interface Removed {
  key: string;
  removed: Record<string, number>;
  files: number;
}

/** Counts what would be removed, asks, and removes it. */
const eraseSession = command({
  summary: 'erase a session with its subagents: every row and file; for admins',
  takes: { ...ITS_KEY, ...ERASING },
  async run({ key, dryRun, yes, reason }, api, terminal) {
    const planned = await api.eraseSession({ key, dryRun: true });
    if (Object.keys(planned.removed).length === 0) throw createNothingError(`session ${key}`);
    if (dryRun === true) return report(planned, 'would be removed', terminal);
    terminal.note(formatRemoved(planned).join('\n'));
    if (yes !== true && !(await isSure(`Erase ${planned.key} for good?`, terminal))) return EXIT.interrupted;
    return report(await api.eraseSession({ key, reason }), 'removed', terminal);
  },
});

/** Erases all sessions in which only this person has written. */
const eraseSubject = command({
  summary: 'erase all sessions in which only this person has written; exit 9 if shared sessions are kept; for admins',
  takes: {
    senderId: ['<sender-id>', 'the sender.id of their messages'],
    ...ERASING,
    channel: ['--channel <channel>', 'only sessions with their messages of this channel'],
    shared: ['--shared <what>', 'sessions in which others have written too', ['keep', 'erase'], 'keep'],
  },
  async run({ dryRun: isDry = false, yes, reason, ...about }, api, terminal) {
    const planned = await api.call('eraseSubject', { ...about, dryRun: true });
    const { batchItems } = planned;
    if (planned.sessions.length + planned.shared.length + batchItems === 0)
      throw createNothingError(`person with the sender id ${about.senderId}`);
    if (!isDry) {
      const keys = planned.sessions.map(({ key }) => key);
      terminal.note(keys.length === 0 ? 'no session is to be erased' : keys.join('\n'));
      const items = batchItems === 0 ? '' : ` and ${batchItems} items of batches`;
      if (yes !== true && !(await isSure(`Erase ${keys.length} sessions${items} for good?`, terminal)))
        return EXIT.interrupted;
    }
    const erased = isDry ? planned : await api.call('eraseSubject', { ...about, reason });
    const verb = isDry ? 'would be removed' : 'removed';
    if (terminal.isJson) terminal.json(erased);
    else {
      for (const one of erased.sessions) report(one, verb, terminal);
      if (erased.batchItems > 0) terminal.print(`items of batches: ${verb}\n  ${erased.batchItems} of batch_items`);
    }
    for (const key of erased.shared) terminal.note(`kept, because others have written there: ${key}`);
    return erased.shared.length === 0 ? EXIT.ok : EXIT.partly;
  },
});

export const words: Words = { sessions: { delete: eraseSession }, subjects: { delete: eraseSubject } };

function report(erased: Removed, verb: string, terminal: Terminal): void {
  if (terminal.isJson) terminal.json(erased);
  else terminal.print([`${erased.key}: ${verb}`, ...formatRemoved(erased)].join('\n'));
}

function formatRemoved({ removed, files }: Removed): string[] {
  const rows = Object.entries(removed).map(([table, count]) => `  ${count} of ${table}`);
  return files === 0 ? rows : [...rows, `  ${files} files`];
}

function createNothingError(what: string): CliError {
  return notFound(`there is nothing of a ${what}`, '"holdfast sessions list" shows the sessions');
}
