// The calendar, as arithmetic: days since 1970-01-01 to dates and back (proleptic Gregorian). A *wall time* is what a clock on a wall
// shows, as milliseconds since 1970-01-01 00:00 on that wall; which instant that is, only a zone can say.
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

/** Days from 1970-01-01 to a date. Years are counted from March here, so that the leap day is the last of its year. */
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
