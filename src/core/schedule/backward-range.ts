// Ranges of cron expressions that begin after their end. The parser reads `5-1` as all minutes but 2, 3 and 4, most other crons refuse it,
// and the author has often meant 1-5.

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const RANGE = /^(\w+)-(\w+)(?:\/\d+)?$/;

/** The first range of the expression that begins after its end, as it is written; null: there is none. */
export function findBackwardRange(expr: string): string | null {
  for (const part of expr.trim().split(/[\s,]+/)) {
    const [, first, last] = RANGE.exec(part) ?? [];
    if (first !== undefined && last !== undefined && valueOf(first) > endOf(last)) return part;
  }
  return null;
}

/** A number, or the number of a month or weekday; NaN for anything else. */
function valueOf(word: string): number {
  const name = word.toUpperCase();
  if (MONTHS.includes(name)) return MONTHS.indexOf(name) + 1;
  return WEEKDAYS.includes(name) ? WEEKDAYS.indexOf(name) : Number(word);
}

/** A week may end with Sunday. */
function endOf(word: string): number {
  return word.toUpperCase() === 'SUN' ? WEEKDAYS.length : valueOf(word);
}
