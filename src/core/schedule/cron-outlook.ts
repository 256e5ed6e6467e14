// What people see of a schedule beside its slots: where the clocks of its zone are set between two slots, and how often it runs in a month.
import { dateOf, DAY_MS, daysInMonth, daysOf, MINUTE_MS } from './civil-time.ts';
import { timesInMonth } from './cron-fields.ts';
import type { Timetable } from './timetable.ts';

/** The clocks of a zone change: at `atMs` they are this many minutes ahead of UTC, before and after. */
export interface ClockChange {
  atMs: number;
  beforeMinutes: number;
  afterMinutes: number;
}

/** The last change of the clocks after `fromMs` and not after `untilMs`; null: there is none, or the schedule has no zone. */
export function clockChangeBetween(timetable: Timetable, fromMs: number, untilMs: number): ClockChange | null {
  if (timetable.kind !== 'cron') return null;
  const found = timetable.zone.lastTransition(fromMs, untilMs);
  if (found === null) return null;
  return { atMs: found.atMs, beforeMinutes: found.beforeMs / MINUTE_MS, afterMinutes: found.afterMs / MINUTE_MS };
}

/**
 * How many slots the calendar month of an instant has, in the zone of the schedule, else in UTC. An hour that is left out or comes twice when
 * clocks are set counts once.
 */
export function slotsInMonth(timetable: Timetable, instantMs: number): number {
  const offsetMs = timetable.kind === 'cron' ? timetable.zone.offsetAt(instantMs) : 0;
  const { year, month } = dateOf(Math.floor((instantMs + offsetMs) / DAY_MS));
  if (timetable.kind === 'cron') return timesInMonth(timetable.fields, { year, month });
  const startMs = daysOf({ year, month, day: 1 }) * DAY_MS;
  const endMs = startMs + daysInMonth(year, month) * DAY_MS;
  if (timetable.kind === 'at') return timetable.atMs >= startMs && timetable.atMs < endMs ? 1 : 0;
  const { everyMs, anchorMs } = timetable;
  const slotsBefore = (untilMs: number): number => Math.max(0, Math.ceil((untilMs - anchorMs) / everyMs));
  return slotsBefore(endMs) - slotsBefore(startMs);
}

/** The cost of this many runs at the mean of the known costs, in whole micro-dollars; null: no cost is known. */
export function costOfRuns(runs: number, knownMicros: readonly number[]): number | null {
  if (knownMicros.length === 0) return null;
  return Math.round((runs * knownMicros.reduce((sum, micros) => sum + micros, 0)) / knownMicros.length);
}
