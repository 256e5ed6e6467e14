// Schedules as people read them.
import type { Cron } from '../api.ts';
import { durationText } from './time.ts';

/** `every 5 min`, `0 9 * * 1-5 (Europe/Berlin)`, `once`. */
export function scheduleText(schedule: Cron['schedule']): string {
  if (schedule.kind === 'at') return 'once';
  if (schedule.kind === 'every') return `every ${durationText(schedule.everyMs)}`;
  return `${schedule.expr} (${schedule.tz})`;
}
