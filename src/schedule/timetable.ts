// From a schedule as people write it to a timetable that slots are computed with. Cron expressions are read by node-cron; what their
// fields mean is in `core/schedule/`, see docs/decisions/0018-schedule.md for why. Everything that is not one is refused here, so what
// is stored can always be computed with.
import { createRequire } from 'node:module';
import { cutHead } from '../core/text.ts';
import type { CronFields, MonthDay, WeekDay } from '../core/schedule/cron-fields.ts';
import { nextSlot, computeStagger, type Schedule, type Timetable } from '../core/schedule/timetable.ts';
import { isInTimeRange, isZone, findZone } from '../core/time.ts';

type NodeCron = typeof import('node-cron');

/** A schedule that cannot be one. `field` names the part of it that is wrong. */
export class InvalidScheduleError extends Error {
  readonly code = 'invalid_schedule';
  readonly field: 'expr' | 'tz' | 'at' | 'anchor' | 'everyMs' | 'staggerMs';

  constructor(field: InvalidScheduleError['field'], message: string) {
    super(message);
    this.name = 'InvalidScheduleError';
    this.field = field;
  }
}

export const EVERY_MS_MIN = 1000;
/** A hundred years. */
export const EVERY_MS_MAX = 3_155_760_000_000;
export const STAGGER_MS_MAX = 86_400_000;

const EXPRESSION_CHARS_MAX = 500;
const EVERY_WEEKDAY = 7;
const EVERY_MONTHDAY = 31;

/** The timetable of a schedule. Throws `InvalidScheduleError`. */
export function buildTimetable(schedule: Schedule): Timetable {
  switch (schedule.kind) {
    case 'at':
      return { kind: 'at', atMs: parseInstant('at', schedule.at) };
    case 'every': {
      const { everyMs, anchor } = schedule;
      if (!Number.isInteger(everyMs) || everyMs < EVERY_MS_MIN || everyMs > EVERY_MS_MAX) {
        throw new InvalidScheduleError(
          'everyMs',
          `${everyMs} is not a whole number from ${EVERY_MS_MIN} to ${EVERY_MS_MAX}`,
        );
      }
      return { kind: 'every', everyMs, anchorMs: parseInstant('anchor', anchor) };
    }
    case 'cron':
      return cronTimetable(schedule);
    default:
      return schedule satisfies never;
  }
}

/** The next slots of a timetable after an instant, at most `count`. */
export function slotsAfter(timetable: Timetable, afterMs: number, count: number): number[] {
  const slots: number[] = [];
  for (let at = nextSlot(timetable, afterMs); at !== null && slots.length < count; at = nextSlot(timetable, at)) {
    slots.push(at);
  }
  return slots;
}

/** A cron as far as its next run depends on it. */
interface Waiting {
  id: string;
  schedule: Schedule;
  nextSlotMs: number | null;
  dueMs: number | null;
  notBeforeMs: number | null;
}

/** The slot that runs next, and when: a cron that rests after a failure passes over the slots before the end of its rest. */
export function findNextRun({ id, schedule, nextSlotMs, dueMs, notBeforeMs }: Waiting): {
  slotMs: number | null;
  runMs: number | null;
} {
  if (nextSlotMs === null || notBeforeMs === null || nextSlotMs >= notBeforeMs)
    return { slotMs: nextSlotMs, runMs: dueMs };
  const timetable = buildTimetable(schedule);
  const slotMs = nextSlot(timetable, notBeforeMs - 1);
  return { slotMs, runMs: slotMs === null ? null : slotMs + computeStagger(timetable, id) };
}

function cronTimetable({ expr, tz, staggerMs }: Extract<Schedule, { kind: 'cron' }>): Timetable {
  if (!isZone(tz)) {
    throw new InvalidScheduleError('tz', `${JSON.stringify(tz)} is not an IANA time zone such as "Europe/Berlin"`);
  }
  if (staggerMs !== undefined && (!Number.isInteger(staggerMs) || staggerMs < 0 || staggerMs > STAGGER_MS_MAX)) {
    throw new InvalidScheduleError('staggerMs', `${staggerMs} is not a whole number from 0 to ${STAGGER_MS_MAX}`);
  }
  const timetable: Timetable = {
    kind: 'cron',
    fields: parseCronFields(expr),
    zone: findZone(tz),
    staggerMs: staggerMs ?? null,
  };
  // Any instant will do: an expression without a slot within decades has none at all.
  if (nextSlot(timetable, 0) === null)
    throw new InvalidScheduleError('expr', `${JSON.stringify(expr)} matches no time`);
  return timetable;
}

/** The fields of an expression of 5 or 6 fields, or of a name such as `@daily`. Throws `InvalidScheduleError`. */
export function parseCronFields(expr: string): CronFields {
  const shown = JSON.stringify(cutHead(expr, EXPRESSION_CHARS_MAX));
  if (expr.length > EXPRESSION_CHARS_MAX) {
    throw new InvalidScheduleError('expr', `${shown}… is longer than ${EXPRESSION_CHARS_MAX} characters`);
  }
  const words = expr.trim().split(/[ \t]+/);
  const { valid, fields, errors } = nodeCron().validateDetailed(words.join(' '));
  if (!valid || fields === undefined) {
    const reasons = errors.map(({ field, value, message }) =>
      // The library writes "a invalid expression"; its other sentences are kept.
      message.includes('invalid expression')
        ? `${JSON.stringify(value)} is not allowed in the field ${FIELD_NAMES[field] ?? field}`
        : message,
    );
    throw new InvalidScheduleError(
      'expr',
      `${shown} is not a cron expression: ${reasons.join('; ') || 'not understood'}`,
    );
  }
  return {
    seconds: ascending(fields.second),
    minutes: ascending(fields.minute),
    hours: ascending(fields.hour),
    months: ascending(fields.month),
    monthDays: isFull(fields.dayOfMonth, EVERY_MONTHDAY) ? null : fields.dayOfMonth.map((day) => toMonthDay(day)),
    weekDays: isFull(fields.dayOfWeek, EVERY_WEEKDAY) ? null : fields.dayOfWeek.map((day) => toWeekDay(day)),
    // The star of Quartz for no value, `?`, is one, too.
    daysMatch: [words.at(-3), words.at(-1)].some((word = '*') => /^[*?]/.test(word)) ? 'both' : 'either',
  };
}

/** As people call them. */
const FIELD_NAMES: Readonly<Record<string, string>> = { dayOfMonth: 'day of month', dayOfWeek: 'day of week' };

let loaded: NodeCron | null = null;

/** Loaded with the first expression: most commands of the command line use none, and loading it takes as long as all the rest. */
function nodeCron(): NodeCron {
  return (loaded ??= createRequire(import.meta.url)('node-cron') as NodeCron);
}

function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].toSorted((a, b) => a - b);
}

function isFull(values: readonly (number | string)[], size: number): boolean {
  return new Set(values.filter((value) => typeof value === 'number')).size === size;
}

/** As node-cron writes them: `15`, `L`, `L-3`, `15W`, `LW`. */
function toMonthDay(value: number | string): MonthDay {
  if (typeof value === 'number') return { kind: 'day', day: value };
  const word = value.toUpperCase();
  if (word === 'LW') return { kind: 'lastWeekday' };
  if (word.endsWith('W')) return { kind: 'near', day: Number(word.slice(0, -1)) };
  return { kind: 'last', offset: word === 'L' ? 0 : Number(word.slice('L-'.length)) };
}

/** As node-cron writes them: `5`, `5#2`, `5L`. */
function toWeekDay(value: number | string): WeekDay {
  if (typeof value === 'number') return { kind: 'day', day: value };
  const [day = '', nth] = value.split('#');
  if (nth !== undefined) return { kind: 'nth', day: Number(day) % EVERY_WEEKDAY, nth: Number(nth) };
  return { kind: 'last', day: Number(day.slice(0, -1)) % EVERY_WEEKDAY };
}

function parseInstant(field: 'at' | 'anchor', text: string): number {
  const instantMs = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  if (!isInTimeRange(instantMs)) {
    throw new InvalidScheduleError(
      field,
      `${JSON.stringify(text)} is not an ISO 8601 time such as "2026-01-31T09:00:00Z"`,
    );
  }
  return instantMs;
}
