// Times as prompts show them, in a zone that is always named by the caller: the zone of the machine
// must never decide what a prompt says. The zone `utc` is a form of its own, with `Z`; every other
// is an IANA name.
import { isZone } from '../core/time.ts';

/** `utc`, or the name of an IANA zone that exists. Made by `resolveEnvelopeZone`. */
export type EnvelopeZone = string;

const EPOCH_MS_MAX = 8.64e15;
const FORMATTERS_MAX = 600;

const formatters = new Map<string, Intl.DateTimeFormat>();

/**
 * The zone that a setting means: `utc` or `gmt` UTC, `user` the user's, `local`, `host` or nothing
 * the host's, else an IANA name; what does not exist falls back to the host's.
 */
export function resolveEnvelopeZone(
  setting: string | undefined,
  zones: { userTimezone?: string; hostTimezone: string },
): EnvelopeZone {
  const { userTimezone, hostTimezone } = zones;
  const word = (setting ?? 'local').trim();
  switch (word.toLowerCase()) {
    case 'utc':
    case 'gmt':
      return 'utc';
    case '':
    case 'local':
    case 'host':
      return hostTimezone;
    case 'user':
      return userTimezone !== undefined && isZone(userTimezone) ? userTimezone : hostTimezone;
    default:
      return isZone(word) ? word : hostTimezone;
  }
}

/**
 * The time of a system event: `2026-01-12T20:19:17Z`, or `2026-01-12 12:19:17 PST`; `unknown-time`
 * for no valid time.
 */
export function formatEventTime(epochMs: number, zone: EnvelopeZone): string {
  if (!isTime(epochMs)) return 'unknown-time';
  const { year, month, day, hour, minute, second, timeZoneName } = toParts(epochMs, zone);
  if (zone === 'utc') return `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
  return `${year}-${month}-${day} ${hour}:${minute}:${second} ${timeZoneName}`;
}

/** The time of a message: `Fri 2026-02-27 00:56 UTC`; null for no valid time. */
export function formatMessageTime(epochMs: number, zone: EnvelopeZone): string | null {
  if (!isTime(epochMs)) return null;
  const { weekday, year, month, day, hour, minute, timeZoneName } = toParts(epochMs, zone);
  return `${weekday} ${year}-${month}-${day} ${hour}:${minute} ${timeZoneName}`;
}

/**
 * A time in words, in the zone of a user: `Friday, February 27th, 2026 — 01:56 (Europe/Berlin)`.
 * The zone must exist.
 */
export function formatUserTime(epochMs: number, timezone: string): string {
  const { weekday, year, month, day, hour, minute } = toParts(epochMs, timezone, { weekday: 'long', month: 'long' });
  return `${weekday}, ${month} ${ordinal(Number(day))}, ${year} — ${hour}:${minute} (${timezone})`;
}

function ordinal(day: number): string {
  const endings = ['th', 'st', 'nd', 'rd'];
  return `${day}${day >= 11 && day <= 13 ? 'th' : (endings[day % 10] ?? 'th')}`;
}

function isTime(epochMs: number): boolean {
  return Number.isFinite(epochMs) && Math.abs(epochMs) <= EPOCH_MS_MAX;
}

type Parts = Partial<Record<Intl.DateTimeFormatPartTypes, string>>;

type Names = Pick<Intl.DateTimeFormatOptions, 'weekday' | 'month'>;
const SHORT: Names = { weekday: 'short', month: '2-digit' };

function toParts(epochMs: number, zone: EnvelopeZone, names = SHORT): Parts {
  const parts: Parts = {};
  for (const { type, value } of toFormatter(zone === 'utc' ? 'UTC' : zone, names).formatToParts(epochMs))
    parts[type] = value;
  return parts;
}

// Making a formatter costs a hundred times what using it does.
function toFormatter(timeZone: string, names: Names): Intl.DateTimeFormat {
  const key = `${timeZone} ${names.month}`;
  const known = formatters.get(key);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    ...names,
    hourCycle: 'h23',
    year: 'numeric',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  });
  if (formatters.size >= FORMATTERS_MAX) formatters.clear();
  formatters.set(key, made);
  return made;
}
