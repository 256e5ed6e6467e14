// When something is due: once, in steady steps, or by a cron expression. The slot that follows is
// always computed from the slot before it, never from the time of the check (G20).
import { MINUTE_MS, toDate, DAY_MS, daysInMonth, countDays, type Zone } from '../../../core/time.ts';
import { isTopOfHour, timesInMonth, type CronFields, nextCronSlot } from './cron-expression.ts';
import { computeSpread } from '../../../core/ids.ts';

/** A schedule that was understood: what slots are computed with. */
export type Timetable =
  | { kind: 'at'; atMs: number }
  | { kind: 'every'; everyMs: number; anchorMs: number }
  | { kind: 'cron'; fields: CronFields; zone: Zone; staggerMs: number | null };

/** How far expressions for the top of every hour are spread. */
const TOP_OF_HOUR_STAGGER_MS = 5 * MINUTE_MS;

/** The first slot after an instant; null when there is none. */
export function nextSlot(timetable: Timetable, afterMs: number): number | null {
  switch (timetable.kind) {
    case 'at':
      return timetable.atMs > afterMs ? timetable.atMs : null;
    case 'every': {
      const { everyMs, anchorMs } = timetable;
      if (afterMs < anchorMs) return anchorMs;
      return anchorMs + (Math.floor((afterMs - anchorMs) / everyMs) + 1) * everyMs;
    }
    case 'cron':
      return nextCronSlot(timetable.fields, timetable.zone, afterMs);
    default:
      return timetable satisfies never;
  }
}

/**
 * The first slot of a schedule that is new or has changed. A time in the past is due immediately.
 */
export function firstSlot(timetable: Timetable, nowMs: number): number | null {
  return timetable.kind === 'at' ? timetable.atMs : nextSlot(timetable, nowMs);
}

/**
 * How long after its slots something is due, in milliseconds: always the same for one id, so that
 * what is scheduled for the top of the hour does not start at the same time. The slots themselves
 * stay where they are.
 */
export function computeStagger(timetable: Timetable, id: string): number {
  if (timetable.kind !== 'cron') return 0;
  const windowMs = timetable.staggerMs ?? (isTopOfHour(timetable.fields) ? TOP_OF_HOUR_STAGGER_MS : 0);
  return windowMs === 0 ? 0 : Math.floor(computeSpread(id) * windowMs);
}

/**
 * The clocks of a zone change: at `atMs` they are this many minutes ahead of UTC, before and after.
 */
export interface ClockChange {
  atMs: number;
  beforeMinutes: number;
  afterMinutes: number;
}

/**
 * The last change of the clocks after `fromMs` and not after `untilMs`; null: there is none, or the
 * schedule has no zone.
 */
export function clockChangeBetween(timetable: Timetable, fromMs: number, untilMs: number): ClockChange | null {
  if (timetable.kind !== 'cron') return null;
  const found = timetable.zone.lastTransition(fromMs, untilMs);
  if (found === null) return null;
  return { atMs: found.atMs, beforeMinutes: found.beforeMs / MINUTE_MS, afterMinutes: found.afterMs / MINUTE_MS };
}

/**
 * How many slots the calendar month of an instant has, in the zone of the schedule, else in UTC. An
 * hour that is left out or comes twice when clocks are set counts once.
 */
export function slotsInMonth(timetable: Timetable, instantMs: number): number {
  const offsetMs = timetable.kind === 'cron' ? timetable.zone.offsetAt(instantMs) : 0;
  const { year, month } = toDate(Math.floor((instantMs + offsetMs) / DAY_MS));
  if (timetable.kind === 'cron') return timesInMonth(timetable.fields, { year, month });
  const startMs = countDays({ year, month, day: 1 }) * DAY_MS;
  const endMs = startMs + daysInMonth(year, month) * DAY_MS;
  if (timetable.kind === 'at') return timetable.atMs >= startMs && timetable.atMs < endMs ? 1 : 0;
  const { everyMs, anchorMs } = timetable;
  const slotsBefore = (untilMs: number): number => Math.max(0, Math.ceil((untilMs - anchorMs) / everyMs));
  return slotsBefore(endMs) - slotsBefore(startMs);
}

/**
 * The cost of this many runs at the mean of the known costs, in whole micro-dollars; null: no cost
 * is known.
 */
export function costOfRuns(runs: number, knownMicros: readonly number[]): number | null {
  if (knownMicros.length === 0) return null;
  return Math.round((runs * knownMicros.reduce((sum, micros) => sum + micros, 0)) / knownMicros.length);
}

/** The next slots of a timetable after an instant, at most `count`. */
export function slotsAfter(timetable: Timetable, afterMs: number, count: number): number[] {
  const slots: number[] = [];
  for (let at = nextSlot(timetable, afterMs); at !== null && slots.length < count; at = nextSlot(timetable, at)) {
    slots.push(at);
  }
  return slots;
}
