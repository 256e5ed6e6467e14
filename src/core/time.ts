// The calendar, the clocks of time zones, and durations.

// The calendar, as arithmetic: days since 1970-01-01 to dates and back (proleptic Gregorian). A
// *wall time* is what a clock on a wall shows, as milliseconds since 1970-01-01 00:00 on that wall;
// which instant that is, only a zone can say.

export const SECOND_MS = 1000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

export interface CivilDate {
  year: number;
  /** 1 to 12. */
  month: number;
  /** 1 to 31. */
  day: number;
}

const DAYS_PER_ERA = 146_097;
const YEARS_PER_ERA = 400;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Days from 1970-01-01 to a date. Years are counted from March here, so that the leap day is the
 * last of its year.
 */
export function countDays({ year, month, day }: CivilDate): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(marchYear / YEARS_PER_ERA);
  const yearOfEra = marchYear - era * YEARS_PER_ERA;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * DAYS_PER_ERA + dayOfEra - 719_468;
}

/** The date that is this many days after 1970-01-01. */
export function toDate(days: number): CivilDate {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / DAYS_PER_ERA);
  const dayOfEra = shifted - era * DAYS_PER_ERA;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  return {
    year: yearOfEra + era * YEARS_PER_ERA + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1,
  };
}

/** The day of the week, 0 for Sunday. */
export function toWeekday(days: number): number {
  return (((days + 4) % 7) + 7) % 7;
}

export function daysInMonth(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeap ? 29 : (MONTH_DAYS[month - 1] ?? 30);
}

/** The first millisecond of the year 1, and the last one of the year 9999. */
const TIME_MS_MIN = -62_135_596_800_000;
export const TIME_MS_MAX = 253_402_300_799_999;

/** True for a time of the years 1 to 9999; false for `NaN`. */
export function isInTimeRange(epochMs: number): boolean {
  return epochMs >= TIME_MS_MIN && epochMs <= TIME_MS_MAX;
}

// What the clocks of a time zone show at an instant, and when they are set. Known to `Intl` alone;
// looked up once per day and kept, because a schedule asks for the same days again and again.
// Assumed: a zone sets its clocks at most once within a day (UTC).

/**
 * The clocks of a zone are set: at this instant the offset from UTC, in milliseconds, becomes
 * another.
 */
export interface Transition {
  atMs: number;
  beforeMs: number;
  afterMs: number;
}

export interface Zone {
  /** IANA name. */
  name: string;
  /** How far the zone's clocks are ahead of UTC at an instant, in milliseconds. */
  offsetAt(instantMs: number): number;
  /** The first transition after `fromMs` and not after `untilMs`; null when there is none. */
  nextTransition(fromMs: number, untilMs: number): Transition | null;
  /** The last transition after `fromMs` and not after `untilMs`; null when there is none. */
  lastTransition(fromMs: number, untilMs: number): Transition | null;
}

const ZONES_MAX = 600;
const DAYS_KEPT_MAX = 50_000;

const zones = new Map<string, Zone>();

/**
 * The zone of an IANA name, such as `Europe/Berlin` or `UTC`. Throws `RangeError` when there is
 * none.
 */
export function findZone(name: string): Zone {
  const known = zones.get(name);
  if (known !== undefined) return known;
  const made = makeZone(name);
  if (zones.size >= ZONES_MAX) zones.clear();
  zones.set(name, made);
  return made;
}

export function isZone(name: string): boolean {
  try {
    findZone(name);
    return true;
  } catch {
    return false;
  }
}

function makeZone(name: string): Zone {
  const offset = offsetReader(name);
  const atStart = new Map<number, number>();
  const transitions = new Map<number, Transition>();

  /** The offset at the first instant of a day of UTC. */
  function offsetOfDay(day: number): number {
    const known = atStart.get(day);
    if (known !== undefined) return known;
    const found = offset(day * DAY_MS);
    if (atStart.size >= DAYS_KEPT_MAX) {
      atStart.clear();
      transitions.clear();
    }
    atStart.set(day, found);
    return found;
  }

  function transitionOfDay(day: number): Transition | null {
    const beforeMs = offsetOfDay(day);
    const afterMs = offsetOfDay(day + 1);
    if (beforeMs === afterMs) return null;
    const known = transitions.get(day);
    if (known !== undefined) return known;
    let low = day * DAY_MS;
    let high = low + DAY_MS;
    while (high - low > SECOND_MS) {
      const middle = low + Math.floor((high - low) / 2 / SECOND_MS) * SECOND_MS;
      if (offset(middle) === beforeMs) low = middle;
      else high = middle;
    }
    const found = { atMs: high, beforeMs, afterMs };
    transitions.set(day, found);
    return found;
  }

  function inRange(day: number, fromMs: number, untilMs: number): Transition | null {
    const found = transitionOfDay(day);
    return found !== null && found.atMs > fromMs && found.atMs <= untilMs ? found : null;
  }

  return {
    name,
    offsetAt(instantMs) {
      const day = Math.floor(instantMs / DAY_MS);
      const transition = transitionOfDay(day);
      return transition !== null && instantMs >= transition.atMs ? transition.afterMs : offsetOfDay(day);
    },
    nextTransition(fromMs, untilMs) {
      // A transition at the very end of a day belongs to the day before.
      const last = Math.floor(untilMs / DAY_MS);
      for (let day = Math.floor(fromMs / DAY_MS) - 1; day <= last; day += 1) {
        const found = inRange(day, fromMs, untilMs);
        if (found !== null) return found;
      }
      return null;
    },
    lastTransition(fromMs, untilMs) {
      const first = Math.floor(fromMs / DAY_MS) - 1;
      for (let day = Math.floor(untilMs / DAY_MS); day >= first; day -= 1) {
        const found = inRange(day, fromMs, untilMs);
        if (found !== null) return found;
      }
      return null;
    },
  };
}

/**
 * Reads offsets from what `Intl` writes: `1/31/2026, GMT+05:30`, in the past with seconds, and
 * `GMT` alone for none.
 */
function offsetReader(timeZone: string): (instantMs: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  return (instantMs) => {
    const [, sign, hours, minutes, seconds = 0] = OFFSET.exec(format.format(instantMs)) ?? [];
    if (sign === undefined) return 0;
    const ms = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS + Number(seconds) * SECOND_MS;
    return sign === '-' ? -ms : ms;
  };
}

const OFFSET = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/;

// Durations as people write them: `"30m"`, `"1h30m"`, `"500ms"`.

const UNIT_MS: Record<string, number> = {
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
  w: 7 * DAY_MS,
};

const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))+$/;
// Sticky: the parts of a whole text follow each other, and none is searched for.
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d|w)/gy;

/**
 * Milliseconds of a text such as `"30m"` or `"1h30m"` (units ms, s, m, h, d, w; blanks between
 * parts and upper case allowed), rounded to a whole number; undefined when it is not one. A bare
 * number is not a duration: its unit would be a guess.
 */
export function parseDuration(text: string): number | undefined {
  const compact = text.trim().toLowerCase().replaceAll(/\s+/g, '');
  if (compact.length > 40 || !WHOLE.test(compact)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of compact.matchAll(PART)) {
    totalMs += Number(amount) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
  }
  return Number.isFinite(totalMs) ? Math.round(totalMs) : undefined;
}

/**
 * A duration for people: the two largest units, without one that is zero, such as `1h 30m`, `24d`,
 * `12.3s` or `850ms`.
 */
export function formatDuration(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)}ms`;
  if (ms < MINUTE_MS) return `${Math.floor(ms / 100) / 10}s`;
  const minutes = Math.floor(ms / MINUTE_MS);
  if (minutes < 60) return twoUnits(minutes, 'm', Math.floor((ms % MINUTE_MS) / SECOND_MS), 's');
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? twoUnits(hours, 'h', minutes % 60, 'm') : twoUnits(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit} ${small}${smallUnit}`;
}
