// Times in options and arguments: a time in ISO 8601, or a duration from now.
import { parseDuration, daysInMonth } from '../core/time.ts';
import { CliError, EXIT } from './cli-error.ts';

/** Other forms would be guessed at: JavaScript takes `5` for a day in 2001. */
const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ]((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?))?(Z|[+-]\d{2}:?\d{2})?$/i;

const FUTURE_EXAMPLE = '30d, or a time such as 2027-01-31T12:00:00Z';

/**
 * A time before now, as ISO 8601; `30m` was 30 minutes ago. Throws `CliError` for any other text.
 */
export function pastTime(text: string): string {
  return parseTime(text, { sign: -1, example: '30m, or a time such as 2026-01-31T12:00:00Z' });
}

/** A time, as ISO 8601; `30d` is in 30 days. Throws `CliError` for any other text. */
export function timeFromNow(text: string): string {
  return parseTime(text, { sign: 1, example: FUTURE_EXAMPLE });
}

/**
 * A time after now, as ISO 8601; `30d` is in 30 days. Throws `CliError` for any other text, and for
 * a time in the past.
 */
export function futureTime(text: string): string {
  const time = timeFromNow(text);
  if (Date.parse(time) > Date.now()) return time;
  throw badTime(`${JSON.stringify(text)} is in the past`, FUTURE_EXAMPLE);
}

function parseTime(text: string, { sign, example }: { sign: 1 | -1; example: string }): string {
  const ms = parseDuration(text);
  const time = ms === undefined ? parseInstant(text) : Date.now() + sign * ms;
  if (time !== null && Number.isFinite(new Date(time).getTime())) return new Date(time).toISOString();
  throw badTime(`${JSON.stringify(text)} is not a time${explainDayFault(text)}`, example);
}

/** Without a zone, a day is meant in the same zone as a time of day: that of this machine. */
function parseInstant(text: string): number | null {
  const [whole, day, time = '00:00', zone = ''] = ISO.exec(text.trim()) ?? [];
  if (whole === undefined || explainDayFault(whole) !== '') return null;
  return Date.parse(`${day}T${time}${zone.toUpperCase().replace(/^(...)(\d\d)$/, '$1:$2')}`);
}

/** JavaScript takes the 30th of February for a day in March. */
function explainDayFault(text: string): string {
  const [whole, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})/.exec(text.trim()) ?? [];
  if (whole === undefined) return '';
  if (Number(month) < 1 || Number(month) > 12) return `: there is no month ${month}`;
  const days = daysInMonth(Number(year), Number(month));
  return Number(day) < 1 || Number(day) > days ? `: ${year}-${month} has the days 1 to ${days}` : '';
}

function badTime(message: string, example: string): CliError {
  return new CliError({ code: 'bad_time', exitCode: EXIT.usage, message, fix: `pass a duration such as ${example}` });
}
