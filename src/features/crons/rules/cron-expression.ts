// What a cron expression says, parsed: the wall times that it means. Days are meant in the way of
// Vixie cron: if both fields of days begin with something else than a star, a day that matches
// either of them is meant, otherwise one that matches both. So `*/2` is no restriction that stands
// for itself, and `1-31` is one, which every day matches.
import {
  toDate,
  DAY_MS,
  daysInMonth,
  countDays,
  HOUR_MS,
  MINUTE_MS,
  SECOND_MS,
  toWeekday,
  type Zone,
} from '../../../core/time.ts';

/**
 * `last`: this many days before the month's last. `near`: the weekday that is nearest to the day,
 * within the month.
 */
export type MonthDay =
  | { kind: 'day'; day: number }
  | { kind: 'last'; offset: number }
  | { kind: 'near'; day: number }
  | { kind: 'lastWeekday' };

/** 0 is Sunday. `nth`: only the n-th of the month; `last`: only the last of the month. */
export type WeekDay =
  | { kind: 'day'; day: number }
  | { kind: 'nth'; day: number; nth: number }
  | { kind: 'last'; day: number };

/** Each list in ascending order and without repeats; null: every day. */
export interface CronFields {
  seconds: readonly number[];
  minutes: readonly number[];
  hours: readonly number[];
  monthDays: readonly MonthDay[] | null;
  months: readonly number[];
  weekDays: readonly WeekDay[] | null;
  /** Which of the two fields of days have to match. */
  daysMatch: 'both' | 'either';
}

/**
 * How far ahead a match is searched: every combination of leap day and weekday recurs within 40
 * years.
 */
const YEARS_MAX = 45;
const HOURS_PER_DAY = 24;
const MINUTES_PER_HOUR = 60;

/**
 * The first matching wall time that is not before `wallMs`, a multiple of a second; null when there
 * is none in 45 years.
 */
export function nextWallTime(fields: CronFields, wallMs: number): number | null {
  let day = Math.floor(wallMs / DAY_MS);
  let restMs = wallMs - day * DAY_MS;
  const lastYear = toDate(day).year + YEARS_MAX;
  for (;;) {
    const date = toDate(day);
    if (date.year > lastYear) return null;
    if (!fields.months.includes(date.month)) {
      day = countDays({ year: date.year, month: date.month, day: daysInMonth(date.year, date.month) }) + 1;
    } else {
      const timeMs = isDayMeant(fields, day) ? nextTimeOfDay(fields, restMs) : null;
      if (timeMs !== null) return day * DAY_MS + timeMs;
      day += 1;
    }
    restMs = 0;
  }
}

/**
 * True when the expression means a steady beat rather than times of day, as far as a shift of the
 * clocks goes: it runs in every hour, and never pauses for longer than the shift. Such a beat
 * follows elapsed time.
 */
export function isBeat({ hours, minutes }: CronFields, shiftMs: number): boolean {
  if (hours.length < HOURS_PER_DAY) return false;
  const pauses = minutes.map((minute, at) => (minutes[at + 1] ?? (minutes[0] ?? 0) + MINUTES_PER_HOUR) - minute);
  return Math.max(...pauses) * MINUTE_MS <= shiftMs;
}

/** True when the expression means the top of every hour, where many schedules coincide. */
export function isTopOfHour({ hours, minutes, seconds }: CronFields): boolean {
  return hours.length === HOURS_PER_DAY && minutes.join() === '0' && seconds.join() === '0';
}

/** How many wall times of a month are meant. */
export function timesInMonth(fields: CronFields, { year, month }: { year: number; month: number }): number {
  if (!fields.months.includes(month)) return 0;
  const first = countDays({ year, month, day: 1 });
  const days = Array.from({ length: daysInMonth(year, month) }, (_, at) => first + at);
  const timesADay = fields.hours.length * fields.minutes.length * fields.seconds.length;
  return days.filter((day) => isDayMeant(fields, day)).length * timesADay;
}

function nextTimeOfDay({ hours, minutes, seconds }: CronFields, fromMs: number): number | null {
  const hour = Math.floor(fromMs / HOUR_MS);
  const minute = Math.floor((fromMs % HOUR_MS) / MINUTE_MS);
  const second = Math.floor((fromMs % MINUTE_MS) / SECOND_MS);
  const [firstMinute = 0] = minutes;
  const [firstSecond = 0] = seconds;
  for (const nextHour of hours) {
    if (nextHour < hour) continue;
    if (nextHour > hour) return nextHour * HOUR_MS + firstMinute * MINUTE_MS + firstSecond * SECOND_MS;
    for (const nextMinute of minutes) {
      if (nextMinute < minute) continue;
      const nextSecond = nextMinute > minute ? firstSecond : seconds.find((one) => one >= second);
      if (nextSecond !== undefined) return nextHour * HOUR_MS + nextMinute * MINUTE_MS + nextSecond * SECOND_MS;
    }
  }
  return null;
}

function isDayMeant({ monthDays, weekDays, daysMatch }: CronFields, day: number): boolean {
  const isInMonth = monthDays === null || monthDays.some((one) => isMonthDay(one, day));
  const isInWeek = weekDays === null || weekDays.some((one) => isWeekDay(one, day));
  return daysMatch === 'both' ? isInMonth && isInWeek : isInMonth || isInWeek;
}

function isMonthDay(meant: MonthDay, day: number): boolean {
  const date = toDate(day);
  const lastDay = daysInMonth(date.year, date.month);
  switch (meant.kind) {
    case 'day':
      return date.day === meant.day;
    case 'last':
      return date.day === lastDay - meant.offset;
    case 'near':
      return meant.day <= lastDay && date.day === nearestWeekday(day - date.day, meant.day, lastDay);
    case 'lastWeekday':
      return date.day === nearestWeekday(day - date.day, lastDay, lastDay);
    default:
      return meant satisfies never;
  }
}

/**
 * The day from Monday to Friday that is nearest to a day and in the same month; `base` is the day
 * before its first.
 */
function nearestWeekday(base: number, dayOfMonth: number, lastDay: number): number {
  const weekday = toWeekday(base + dayOfMonth);
  if (weekday === 6) return dayOfMonth === 1 ? 3 : dayOfMonth - 1;
  if (weekday === 0) return dayOfMonth === lastDay ? dayOfMonth - 2 : dayOfMonth + 1;
  return dayOfMonth;
}

function isWeekDay(meant: WeekDay, day: number): boolean {
  if (toWeekday(day) !== meant.day) return false;
  const date = toDate(day);
  switch (meant.kind) {
    case 'day':
      return true;
    case 'nth':
      return Math.ceil(date.day / 7) === meant.nth;
    case 'last':
      return date.day + 7 > daysInMonth(date.year, date.month);
    default:
      return meant satisfies never;
  }
}

// The next slot of a cron expression in a time zone. Times of day are wall times, and the clocks on
// the walls are set now and then:
//
//   set forward   wall times are left out. What falls into the gap is due when the gap is over,
//                 once.
//   set back      wall times come twice. They count the first time.
//
// So a shift neither skips nor doubles a time of day (G20). An expression that means a steady beat
// (`*/15 * * * *`) follows elapsed time instead: nothing is moved out of the gap, and the repeated
// hour has its beats, too.

/** A repeated stretch is at most this long, and begins with a transition. */
const REPEATED_MS_MAX = 26 * HOUR_MS;
/**
 * Transitions that one search crosses: twice a year for longer than any search goes, and Ramadan.
 */
const TRANSITIONS_MAX = 400;

/** The first slot after an instant, whole seconds; null when there is none in the next 45 years. */
export function nextCronSlot(fields: CronFields, zone: Zone, afterMs: number): number | null {
  let startMs = Math.floor(afterMs / SECOND_MS) * SECOND_MS;
  let offsetMs = zone.offsetAt(startMs);
  let fromMs = Math.max(startMs + SECOND_MS, repeatedUntil(fields, zone, startMs));
  for (let crossed = 0; crossed <= TRANSITIONS_MAX; crossed += 1) {
    const wallMs = nextWallTime(fields, fromMs + offsetMs);
    if (wallMs === null) return null;
    const slotMs = wallMs - offsetMs;
    const transition = zone.nextTransition(startMs, slotMs);
    if (transition === null) return slotMs;
    const { atMs, beforeMs, afterMs: nextOffsetMs } = transition;
    if (nextOffsetMs > beforeMs && !isBeat(fields, nextOffsetMs - beforeMs)) {
      const missing = nextWallTime(fields, atMs + beforeMs);
      if (missing !== null && missing < atMs + nextOffsetMs) return atMs;
    }
    startMs = atMs;
    offsetMs = nextOffsetMs;
    fromMs = Math.max(atMs, repeatedUntil(fields, zone, atMs));
  }
  return null;
}

/**
 * Until when wall times repeat those before the last transition and do not count; the instant
 * itself when they all count.
 */
function repeatedUntil(fields: CronFields, zone: Zone, instantMs: number): number {
  const last = zone.lastTransition(instantMs - REPEATED_MS_MAX, instantMs);
  if (last === null) return instantMs;
  const shiftMs = last.beforeMs - last.afterMs;
  return shiftMs <= 0 || isBeat(fields, shiftMs) ? instantMs : Math.max(instantMs, last.atMs + shiftMs);
}

// Cron expressions that mean something else than their author has probably meant. A range that
// begins after its end: the parser reads `5-1` as all minutes but 2, 3 and 4, most other crons
// refuse it, and the author has often meant 1-5. A step that is longer than its field: `*/90` in
// minutes is not every 90 minutes, but the first of every hour.

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const RANGE = /^(\w+)-(\w+)(?:\/\d+)?$/;

const STEP = /\/(\d+)$/;
/** How many values a field has, and its name. */
const SIZES = [
  [60, 'seconds'],
  [60, 'minutes'],
  [24, 'hours'],
  [31, 'days of a month'],
  [12, 'months'],
  [7, 'days of a week'],
] as const;

/** Why the expression would be misread, and what to write instead; null: it would not. */
export function findMisreading(expr: string): string | null {
  const backward = findBackwardRange(expr);
  if (backward !== null) {
    return `the range ${JSON.stringify(backward)} begins after its end; write it the other way round, or as two ranges such as "22-23,0-2"`;
  }
  const fields = expr.trim().split(/\s+/);
  for (const [at, field] of fields.entries()) {
    const [size = Infinity, name] = SIZES[at + SIZES.length - fields.length] ?? [];
    const part = field.split(',').find((one) => Number(STEP.exec(one)?.[1]) > size);
    if (part !== undefined) {
      return `the step of ${JSON.stringify(part)} is longer than the ${size} ${name}, which would mean the first of them alone; for a steady interval use {"kind": "every", "everyMs": ...} (cron add --every)`;
    }
  }
  return null;
}

/**
 * The first range of the expression that begins after its end, as it is written; null: there is
 * none.
 */
function findBackwardRange(expr: string): string | null {
  for (const part of expr.trim().split(/[\s,]+/)) {
    const [, first, last] = RANGE.exec(part) ?? [];
    if (first !== undefined && last !== undefined && parseValue(first) > parseEnd(last)) return part;
  }
  return null;
}

/** A number, or the number of a month or weekday; NaN for anything else. */
function parseValue(word: string): number {
  const name = word.toUpperCase();
  if (MONTHS.includes(name)) return MONTHS.indexOf(name) + 1;
  return WEEKDAYS.includes(name) ? WEEKDAYS.indexOf(name) : Number(word);
}

/** A week may end with Sunday. */
function parseEnd(word: string): number {
  return word.toUpperCase() === 'SUN' ? WEEKDAYS.length : parseValue(word);
}
