// A bulk action as it proceeds, until it has ended. The exit code says how.
import { setTimeout as delay } from 'node:timers/promises';
import type { BulkActionAnswer } from '../api/answer-types.ts';
import type { ApiClient } from './api-client.ts';
import { CliError, EXIT, type ExitCode } from './cli-error.ts';
import type { Terminal } from './terminal.ts';

const LOOK_MS = 500;
const PERCENT = 100;

/** Follows an action. Ctrl-C leaves it running. */
export async function followBulk(api: ApiClient, id: string, terminal: Terminal): Promise<ExitCode> {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  let shown = '';
  for (;;) {
    const action = await look(api, id);
    if (action !== null) {
      const line = lineOf(action);
      if (line !== shown && action.endedAt === null) terminal.note(line);
      shown = line;
      if (action.endedAt !== null) return end(action, terminal);
    }
    await delay(LOOK_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    if (stop.signal.aborted) {
      terminal.note(`the action continues: holdfast bulk show ${id}`);
      return EXIT.interrupted;
    }
  }
}

/** The action, or null while the service cannot be reached: it may be restarting. */
async function look(api: ApiClient, id: string): Promise<BulkActionAnswer | null> {
  try {
    return await api.getBulkAction({ id });
  } catch (error) {
    if (error instanceof CliError && error.code === 'service_unreachable') return null;
    throw error;
  }
}

/** The progress so far. */
export function lineOf({ total, done, skipped, failed }: BulkActionAnswer): string {
  const percent = total === 0 ? PERCENT : Math.floor(((done + skipped + failed) / total) * PERCENT);
  return `${percent} %: ${done} done, ${skipped} skipped, ${failed} failed of ${total}`;
}

function end(action: BulkActionAnswer, terminal: Terminal): ExitCode {
  if (terminal.isJson) terminal.json(action);
  else terminal.print(lineOf(action));
  if (action.status === 'canary_failed') terminal.note('the first one did not end well, so the others were left');
  if (action.skipped + action.failed > 0) terminal.note(`reasons: holdfast bulk show ${action.id}`);
  if (action.status !== 'completed') return EXIT.turnAborted;
  return action.skipped + action.failed > 0 ? EXIT.partly : EXIT.ok;
}
