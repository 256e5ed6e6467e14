// When an agent is polled: at a fixed interval from a phase of its own, so that a thousand agents are not polled at the same time, and
// only in its active hours.
import { DAY_MS, HOUR_MS, MINUTE_MS } from './schedule/civil-time.ts';
import { spreadOf } from './schedule/spread.ts';
import { zoneOf } from './schedule/zone.ts';

/** `HH:MM` each; `24:00` may end a day. */
export interface ActiveHours {
  start: string;
  end: string;
}

/** The first poll of an agent after an instant. Its phase follows from its name: every process computes the same result. */
export function firstPoll(agentId: string, everyMs: number, nowMs: number): number {
  const phaseMs = Math.floor(spreadOf(`heartbeat:${agentId}`) * everyMs);
  return phaseMs + (Math.floor((nowMs - phaseMs) / everyMs) + 1) * everyMs;
}

/**
 * True when the clocks of a zone (IANA name) are within the hours. Hours that end before they begin go over midnight; hours that begin
 * and end at the same time are the whole day.
 */
export function isWithinHours(hours: ActiveHours, zone: string, nowMs: number): boolean {
  const startMs = msOf(hours.start);
  const endMs = msOf(hours.end);
  const wallMs = nowMs + zoneOf(zone).offsetAt(nowMs);
  const timeMs = ((wallMs % DAY_MS) + DAY_MS) % DAY_MS;
  if (startMs < endMs) return timeMs >= startMs && timeMs < endMs;
  return startMs === endMs || timeMs >= startMs || timeMs < endMs;
}

function msOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * HOUR_MS + minutes * MINUTE_MS;
}
