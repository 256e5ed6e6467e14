// The times that Holdfast takes from outside: those that ISO 8601 writes with four digits for the year, which the database can store.

/** The first millisecond of the year 1, and the last one of the year 9999. */
const TIME_MS_MIN = -62_135_596_800_000;
export const TIME_MS_MAX = 253_402_300_799_999;

/** True for a time of the years 1 to 9999; false for `NaN`. */
export function isInTimeRange(epochMs: number): boolean {
  return epochMs >= TIME_MS_MIN && epochMs <= TIME_MS_MAX;
}
