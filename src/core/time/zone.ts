// What the clocks of a time zone show at an instant, and when they are set. Known to `Intl` alone; looked up once per day and kept,
// because a schedule asks for the same days again and again. Assumed: a zone sets its clocks at most once within a day (UTC).
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './civil-time.ts';

/** The clocks of a zone are set: at this instant the offset from UTC, in milliseconds, becomes another. */
export interface Transition {
  atMs: number;
  beforeMs: number;
  afterMs: number;
}

export interface Zone {
  /** IANA name. */
  name: string;
  /** How far the zone's clocks are ahead of UTC at an instant, in milliseconds. */
  offsetAt(instantMs: number): number;
  /** The first transition after `fromMs` and not after `untilMs`; null when there is none. */
  nextTransition(fromMs: number, untilMs: number): Transition | null;
  /** The last transition after `fromMs` and not after `untilMs`; null when there is none. */
  lastTransition(fromMs: number, untilMs: number): Transition | null;
}

const ZONES_MAX = 600;
const DAYS_KEPT_MAX = 50_000;

const zones = new Map<string, Zone>();

/** The zone of an IANA name, such as `Europe/Berlin` or `UTC`. Throws `RangeError` when there is none. */
export function findZone(name: string): Zone {
  const known = zones.get(name);
  if (known !== undefined) return known;
  const made = makeZone(name);
  if (zones.size >= ZONES_MAX) zones.clear();
  zones.set(name, made);
  return made;
}

export function isZone(name: string): boolean {
  try {
    findZone(name);
    return true;
  } catch {
    return false;
  }
}

function makeZone(name: string): Zone {
  const offset = offsetReader(name);
  const atStart = new Map<number, number>();
  const transitions = new Map<number, Transition>();

  /** The offset at the first instant of a day of UTC. */
  function offsetOfDay(day: number): number {
    const known = atStart.get(day);
    if (known !== undefined) return known;
    const found = offset(day * DAY_MS);
    if (atStart.size >= DAYS_KEPT_MAX) {
      atStart.clear();
      transitions.clear();
    }
    atStart.set(day, found);
    return found;
  }

  function transitionOfDay(day: number): Transition | null {
    const beforeMs = offsetOfDay(day);
    const afterMs = offsetOfDay(day + 1);
    if (beforeMs === afterMs) return null;
    const known = transitions.get(day);
    if (known !== undefined) return known;
    let low = day * DAY_MS;
    let high = low + DAY_MS;
    while (high - low > SECOND_MS) {
      const middle = low + Math.floor((high - low) / 2 / SECOND_MS) * SECOND_MS;
      if (offset(middle) === beforeMs) low = middle;
      else high = middle;
    }
    const found = { atMs: high, beforeMs, afterMs };
    transitions.set(day, found);
    return found;
  }

  function inRange(day: number, fromMs: number, untilMs: number): Transition | null {
    const found = transitionOfDay(day);
    return found !== null && found.atMs > fromMs && found.atMs <= untilMs ? found : null;
  }

  return {
    name,
    offsetAt(instantMs) {
      const day = Math.floor(instantMs / DAY_MS);
      const transition = transitionOfDay(day);
      return transition !== null && instantMs >= transition.atMs ? transition.afterMs : offsetOfDay(day);
    },
    nextTransition(fromMs, untilMs) {
      // A transition at the very end of a day belongs to the day before.
      const last = Math.floor(untilMs / DAY_MS);
      for (let day = Math.floor(fromMs / DAY_MS) - 1; day <= last; day += 1) {
        const found = inRange(day, fromMs, untilMs);
        if (found !== null) return found;
      }
      return null;
    },
    lastTransition(fromMs, untilMs) {
      const first = Math.floor(fromMs / DAY_MS) - 1;
      for (let day = Math.floor(untilMs / DAY_MS); day >= first; day -= 1) {
        const found = inRange(day, fromMs, untilMs);
        if (found !== null) return found;
      }
      return null;
    },
  };
}

/** Reads offsets from what `Intl` writes: `1/31/2026, GMT+05:30`, in the past with seconds, and `GMT` alone for none. */
function offsetReader(timeZone: string): (instantMs: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  return (instantMs) => {
    const [, sign, hours, minutes, seconds = 0] = OFFSET.exec(format.format(instantMs)) ?? [];
    if (sign === undefined) return 0;
    const ms = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS + Number(seconds) * SECOND_MS;
    return sign === '-' ? -ms : ms;
  };
}

const OFFSET = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/;
