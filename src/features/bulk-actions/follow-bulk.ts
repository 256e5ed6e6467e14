// A bulk action as it proceeds, until it has ended. The exit code says how.
import type { BulkActionView } from '../../contract/bulk-actions.ts';
import type { ApiClient } from '../../cli/api-client.ts';
import { EXIT, type ExitCode } from '../../cli/cli-error.ts';
import { pollUntilEnd } from '../../cli/poll-until-end.ts';
import type { Terminal } from '../../cli/terminal.ts';

const POLL_MS = 500;
const PERCENT = 100;

/** Follows an action. Ctrl-C leaves it running. */
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

/** The progress so far. */
export function formatProgress({ total, done, skipped, failed }: BulkActionView): string {
  const percent = total === 0 ? PERCENT : Math.floor(((done + skipped + failed) / total) * PERCENT);
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
