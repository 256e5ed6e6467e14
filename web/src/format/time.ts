// Times as people read them. Ages are measured by the clock of the service, which every answer
// carries: that of this device may be wrong.

let aheadMs = 0;

/** Notes what time it is at the service, from the `Date` header of an answer. */
export function noteServerTime(date: string | null): void {
  const at = date === null ? Number.NaN : Date.parse(date);
  // The header is in whole seconds.
  if (!Number.isNaN(at)) aheadMs = at + 500 - Date.now();
}

/** The time at the service, in milliseconds since 1970. */
export function serverNowMs(): number {
  // Within a second the two clocks agree as far as the header can say.
  return Date.now() + (Math.abs(aheadMs) > 1_500 ? aheadMs : 0);
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `850 ms`, `12 s`, `3 min`, `2 h`, `4 d`; never negative. */
export function durationText(ms: number): string {
  const length = Math.max(0, ms);
  if (length < SECOND) return `${Math.round(length)} ms`;
  if (length < 10 * SECOND) return `${(length / SECOND).toFixed(1)} s`;
  if (length < 2 * MINUTE) return `${Math.round(length / SECOND)} s`;
  if (length < 2 * HOUR) return `${Math.round(length / MINUTE)} min`;
  if (length < 2 * DAY) return `${Math.round(length / HOUR)} h`;
  return `${Math.round(length / DAY)} d`;
}

/** How long ago a time is: `12 s ago`, `now`, `in 3 min`. */
export function ageText(iso: string, nowMs: number = serverNowMs()): string {
  const ms = nowMs - Date.parse(iso);
  if (Number.isNaN(ms)) return 'unknown';
  if (Math.abs(ms) < SECOND) return 'now';
  return ms > 0 ? `${durationText(ms)} ago` : `in ${durationText(-ms)}`;
}

/** The beginning of a range that ends now, such as `24h` and `today`; another text is a time. */
export function beginningOfRange(range: string): string {
  const [, count, unit] = /^(\d{1,4})([hd])$/.exec(range) ?? [];
  if (range === 'today') return new Date(new Date(serverNowMs()).setHours(0, 0, 0, 0)).toISOString();
  if (count === undefined) return range;
  return new Date(serverNowMs() - Number(count) * (unit === 'h' ? HOUR : DAY)).toISOString();
}

/** Whether the browser knows a zone, by its IANA name; `local` and `utc` are known, too. */
export function isZone(zone: string): boolean {
  try {
    return zone === 'local' || new Intl.DateTimeFormat(undefined, { timeZone: zone }).resolvedOptions() !== null;
  } catch {
    return false;
  }
}

/** To make one takes longer than to draw the entry of a transcript that shows its time. */
const formats = new Map<string, Intl.DateTimeFormat>();

type Parts = Pick<Intl.DateTimeFormatOptions, 'dateStyle' | 'timeStyle'>;

function formatOf(zone: string, parts: Parts): Intl.DateTimeFormat {
  const name = [zone, parts.dateStyle, parts.timeStyle].join(' ');
  const format =
    formats.get(name) ??
    new Intl.DateTimeFormat(undefined, { ...parts, ...(zone === 'local' ? {} : { timeZone: zone }) });
  formats.set(name, format);
  return format;
}

/** The time of day, as in `12:03`; of another day than today with its date. */
export function clockText(iso: string, zone: string): string {
  const time = new Date(iso);
  const day = formatOf(zone, { dateStyle: 'short' });
  const isToday = day.format(time) === day.format(serverNowMs());
  return formatOf(zone, { timeStyle: 'short', ...(isToday ? {} : { dateStyle: 'medium' }) }).format(time);
}

/** A time as date and time of day, in `local` time, `utc` or a zone by its IANA name. */
export function timeText(iso: string, zone: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return 'unknown';
  return formatOf(zone, { dateStyle: 'medium', timeStyle: 'medium' }).format(time);
}

/** How long something took; null: it has not ended. */
export function lengthMs(startedAt: string, endedAt: string | null): number {
  return Math.max(0, (endedAt === null ? serverNowMs() : Date.parse(endedAt)) - Date.parse(startedAt));
}
