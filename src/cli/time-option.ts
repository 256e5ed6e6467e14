// Times in options and arguments: a time in ISO 8601, or a duration from now.
import { parseDuration } from '../config/durations.ts';
import { CliError, EXIT } from './cli-error.ts';

/** Other forms would be guessed at: JavaScript takes `5` for a day in 2001. */
const ISO_DATE = /^\d{4}-\d{2}-\d{2}/;

/** A time before now, as ISO 8601; `30m` was 30 minutes ago. Throws `CliError` for any other text. */
export function pastTime(text: string): string {
  return timeOf(text, { sign: -1, example: '30m, or a time such as 2026-01-31T12:00:00Z' });
}

/** A time after now, as ISO 8601; `30d` is in 30 days. Throws `CliError` for any other text. */
export function futureTime(text: string): string {
  return timeOf(text, { sign: 1, example: '30d, or a time such as 2027-01-31T12:00:00Z' });
}

function timeOf(text: string, { sign, example }: { sign: 1 | -1; example: string }): string {
  const ms = parseDuration(text);
  const time = ms === undefined ? Date.parse(ISO_DATE.test(text) ? text : '') : Date.now() + sign * ms;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw new CliError({
    code: 'bad_time',
    exitCode: EXIT.usage,
    message: `${JSON.stringify(text)} is not a time`,
    fix: `pass a duration such as ${example}`,
  });
}
