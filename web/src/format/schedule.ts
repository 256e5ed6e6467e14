// Schedules as people read them.
import { durationText } from './time.ts';

/** As the API has it. */
export type ShownSchedule =
  | { kind: 'at'; at: string }
  | { kind: 'every'; everyMs: number; anchor: string }
  | { kind: 'cron'; expr: string; tz: string; staggerMs?: number };

/** `every 5 min`, `0 9 * * 1-5 (Europe/Berlin)`, `once`. */
export function scheduleText(schedule: ShownSchedule): string {
  if (schedule.kind === 'at') return 'once';
  if (schedule.kind === 'every') return `every ${durationText(schedule.everyMs)}`;
  return `${schedule.expr} (${schedule.tz})`;
}
