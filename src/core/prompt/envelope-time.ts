// Times as prompts show them, in a zone that is always named by the caller: the zone of the machine must never decide what a
// prompt says. The zone `utc` is a form of its own, with `Z`; every other is an IANA name.
import { isZone } from '../schedule/zone.ts';

/** `utc`, or the name of an IANA zone that exists. Made by `resolveEnvelopeZone`. */
export type EnvelopeZone = string;

const EPOCH_MS_MAX = 8.64e15;
const FORMATTERS_MAX = 600;

const formatters = new Map<string, Intl.DateTimeFormat>();

/**
 * The zone that a setting means: `utc` or `gmt` UTC, `user` the user's, `local`, `host` or nothing the host's, else an IANA
 * name; what does not exist falls back to the host's.
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

/** The time of a system event: `2026-01-12T20:19:17Z`, or `2026-01-12 12:19:17 PST`; `unknown-time` for no valid time. */
export function formatEventTime(epochMs: number, zone: EnvelopeZone): string {
  if (!isTime(epochMs)) return 'unknown-time';
  const { year, month, day, hour, minute, second, timeZoneName } = partsOf(epochMs, zone);
  if (zone === 'utc') return `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
  return `${year}-${month}-${day} ${hour}:${minute}:${second} ${timeZoneName}`;
}

/** The time of a message: `Fri 2026-02-27 00:56 UTC`; null for no valid time. */
export function formatMessageTime(epochMs: number, zone: EnvelopeZone): string | null {
  if (!isTime(epochMs)) return null;
  const { weekday, year, month, day, hour, minute, timeZoneName } = partsOf(epochMs, zone);
  return `${weekday} ${year}-${month}-${day} ${hour}:${minute} ${timeZoneName}`;
}

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** A time in words, in the zone of a user: `Friday, February 27th, 2026 — 01:56 (Europe/Berlin)`. The zone must exist. */
export function formatUserTime(epochMs: number, timezone: string): string {
  const { weekday = '', year, month, day, hour, minute } = partsOf(epochMs, timezone);
  const dayName = WEEKDAYS.find((name) => name.startsWith(weekday));
  const monthName = MONTHS[Number(month) - 1];
  return `${dayName}, ${monthName} ${ordinal(Number(day))}, ${year} — ${hour}:${minute} (${timezone})`;
}

function ordinal(day: number): string {
  const endings = ['th', 'st', 'nd', 'rd'];
  return `${day}${day >= 11 && day <= 13 ? 'th' : (endings[day % 10] ?? 'th')}`;
}

function isTime(epochMs: number): boolean {
  return Number.isFinite(epochMs) && Math.abs(epochMs) <= EPOCH_MS_MAX;
}

type Parts = Partial<Record<Intl.DateTimeFormatPartTypes, string>>;

function partsOf(epochMs: number, zone: EnvelopeZone): Parts {
  const parts: Parts = {};
  for (const { type, value } of formatterOf(zone === 'utc' ? 'UTC' : zone).formatToParts(epochMs)) parts[type] = value;
  return parts;
}

// Making a formatter costs a hundred times what using it does.
function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  });
  if (formatters.size >= FORMATTERS_MAX) formatters.clear();
  formatters.set(timeZone, made);
  return made;
}
