// Cron expressions that mean something else than their author has probably meant. A range that begins after its end: the parser reads `5-1` as
// all minutes but 2, 3 and 4, most other crons refuse it, and the author has often meant 1-5. A step that is longer than its field: `*/90` in
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

/** The first range of the expression that begins after its end, as it is written; null: there is none. */
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
