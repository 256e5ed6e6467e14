// The next slot of a cron expression in a time zone. Times of day are wall times, and the clocks on the walls are set now and then:
//
//   set forward   wall times are left out. What falls into the gap is due when the gap is over, once.
//   set back      wall times come twice. They count the first time.
//
// So a shift neither skips nor doubles a time of day (G20). An expression that means a steady beat (`*/15 * * * *`) follows elapsed
// time instead: nothing is moved out of the gap, and the repeated hour has its beats, too.
import { HOUR_MS, SECOND_MS, type Zone } from '../time.ts';
import { isBeat, nextWallTime, type CronFields } from './cron-fields.ts';

/** A repeated stretch is at most this long, and begins with a transition. */
const REPEATED_MS_MAX = 26 * HOUR_MS;
/** Transitions that one search crosses: twice a year for longer than any search goes, and Ramadan. */
const TRANSITIONS_MAX = 400;

/** The first slot after an instant, whole seconds; null when there is none in the next 45 years. */
export function nextCronSlot(fields: CronFields, zone: Zone, afterMs: number): number | null {
  let startMs = Math.floor(afterMs / SECOND_MS) * SECOND_MS;
  let offsetMs = zone.offsetAt(startMs);
  let fromMs = Math.max(startMs + SECOND_MS, repeatedUntil(fields, zone, startMs));
  for (let crossed = 0; crossed <= TRANSITIONS_MAX; crossed += 1) {
    const wallMs = nextWallTime(fields, fromMs + offsetMs);
    if (wallMs === null) return null;
    const slotMs = wallMs - offsetMs;
    const transition = zone.nextTransition(startMs, slotMs);
    if (transition === null) return slotMs;
    const { atMs, beforeMs, afterMs: nextOffsetMs } = transition;
    if (nextOffsetMs > beforeMs && !isBeat(fields, nextOffsetMs - beforeMs)) {
      const missing = nextWallTime(fields, atMs + beforeMs);
      if (missing !== null && missing < atMs + nextOffsetMs) return atMs;
    }
    startMs = atMs;
    offsetMs = nextOffsetMs;
    fromMs = Math.max(atMs, repeatedUntil(fields, zone, atMs));
  }
  return null;
}

/** Until when wall times repeat those before the last transition and do not count; the instant itself when they all count. */
function repeatedUntil(fields: CronFields, zone: Zone, instantMs: number): number {
  const last = zone.lastTransition(instantMs - REPEATED_MS_MAX, instantMs);
  if (last === null) return instantMs;
  const shiftMs = last.beforeMs - last.afterMs;
  return shiftMs <= 0 || isBeat(fields, shiftMs) ? instantMs : Math.max(instantMs, last.atMs + shiftMs);
}
