// What `--since` says.
import { parseDuration } from '../config/durations.ts';
import { CliError, EXIT } from './cli-error.ts';

/** The time of a text, as ISO 8601: a time, or a duration before now. Throws `CliError` for any other text. */
export function timeOf(text: string): string {
  const agoMs = parseDuration(text);
  const time = agoMs === undefined ? new Date(text) : new Date(Date.now() - agoMs);
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  throw new CliError({
    code: 'bad_time',
    exitCode: EXIT.usage,
    message: `${JSON.stringify(text)} is not a time`,
    fix: 'pass a duration such as 30m, or a time such as 2026-01-31T12:00:00Z',
  });
}
