// Schedules as people read them, and what can be said of the slots to come.
import { durationText } from './time.ts';

/** As the API has it. */
export type ShownSchedule =
  | { kind: 'at'; at: string }
  | { kind: 'every'; everyMs: number; anchor: string }
  | { kind: 'cron'; expr: string; tz: string; staggerMs?: number };

const MINUTE_MS = 60_000;
const MONTH_MS = 30 * 24 * 60 * MINUTE_MS;

/** `every 5 min`, `0 9 * * 1-5 (Europe/Berlin)`, `once`. */
export function scheduleText(schedule: ShownSchedule): string {
  if (schedule.kind === 'at') return 'once';
  if (schedule.kind === 'every') return `every ${durationText(schedule.everyMs)}`;
  return `${schedule.expr} (${schedule.tz})`;
}

/** How far the clock of a zone is ahead of UTC at a time, in minutes. */
function offsetMinutes(timeMs: number, zone: string): number {
  const fields = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(timeMs);
  const name = fields.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign = '+', hours = '0', minutes = '0'] = /GMT([+-])(\d+):(\d+)/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

/** By how many minutes the clock of the zone is put forward (or back, when negative) between each slot and the one before; 0 for the first. */
export function clockChanges(slots: readonly string[], zone: string): number[] {
  const offsets = slots.map((slot) => offsetMinutes(Date.parse(slot), zone));
  return offsets.map((offset, index) => offset - (offsets[index - 1] ?? offset));
}

/** How often a schedule runs in 30 days, from its next slots; null: there are too few to say. */
export function runsPerMonth(slots: readonly string[]): number | null {
  const [first, last] = [slots[0], slots.at(-1)];
  if (first === undefined || last === undefined || slots.length < 2) return null;
  const stepMs = (Date.parse(last) - Date.parse(first)) / (slots.length - 1);
  return stepMs <= 0 ? null : MONTH_MS / stepMs;
}

/** What 30 days cost when runs cost what they did lately, in micro-dollars; null: not known. */
export function costPerMonth(runs: number | null, costsMicros: readonly (number | null)[]): number | null {
  const known = costsMicros.filter((cost) => cost !== null);
  if (runs === null || known.length === 0) return null;
  return (runs * known.reduce((sum, cost) => sum + cost, 0)) / known.length;
}
