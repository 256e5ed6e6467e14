// How commands wait: they ask the service again and again until something has ended, a time is
// over, or Ctrl-C. A service that cannot be reached meanwhile may be restarting, so they ask again.
import { pause } from '../clock.ts';
import { CliError, EXIT, type ExitCode } from './cli-error.ts';

export interface Poll<Answer> {
  read: () => Promise<Answer>;
  everyMs: number;
  /** Absent: without a limit. */
  waitSeconds?: number | undefined;
}

/**
 * Passes each answer to `show`, until that returns an exit code. Resolves with this one, or with
 * 124 or 130 for the other two ends.
 */
export async function pollUntilEnd<Answer>(
  { read, everyMs, waitSeconds = Number.POSITIVE_INFINITY }: Poll<Answer>,
  show: (answer: Answer) => ExitCode | null,
): Promise<ExitCode> {
  const signal = interruption();
  const endsAtMs = performance.now() + waitSeconds * 1000;
  for (;;) {
    const exit = await read().then(show, ignoreAway);
    if (exit !== null) return exit;
    if (performance.now() >= endsAtMs) return EXIT.waitEnded;
    await pause(Math.min(everyMs, endsAtMs - performance.now()), signal);
    if (signal.aborted) return EXIT.interrupted;
  }
}

function ignoreAway(error: unknown): null {
  if (!isAway(error)) throw error;
  return null;
}

/** True when the service could not be reached. */
export function isAway(error: unknown): error is CliError {
  return error instanceof CliError && error.exitCode === EXIT.cannotReach;
}

/** Aborts at Ctrl-C. */
export function interruption(): AbortSignal {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  return stop.signal;
}
