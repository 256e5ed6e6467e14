// Whether a message starts a new transcript automatically: only where the configuration says so
// (G15). Daily: the first message after an hour of the day; idle: the first after so long without
// messages. The caller decides what counts as a message: heartbeats do not.
import { DAY_MS, HOUR_MS, MINUTE_MS, findZone } from '../../core/time.ts';

export interface ResetPolicy {
  mode: 'none' | 'daily' | 'idle';
  /** The hour at which a day of the session begins, in the user's zone. */
  atHour: number;
  idleMinutes: number;
}

export interface ResetMoment {
  policy: ResetPolicy;
  /** IANA zone of the user. */
  timeZone: string;
  /** When the last message arrived, epoch milliseconds; null: none has. */
  lastTalkMs: number | null;
  /** When the message came, epoch milliseconds. */
  nowMs: number;
}

/** Why the transcript ends before this message; null: it continues. */
export function resetDue({ policy, timeZone, lastTalkMs, nowMs }: ResetMoment): 'daily' | 'idle' | null {
  if (lastTalkMs === null || nowMs < lastTalkMs) return null;
  switch (policy.mode) {
    case 'none':
      return null;
    case 'idle':
      return nowMs - lastTalkMs >= policy.idleMinutes * MINUTE_MS ? 'idle' : null;
    case 'daily':
      return toDay(lastTalkMs, timeZone, policy.atHour) === toDay(nowMs, timeZone, policy.atHour) ? null : 'daily';
    default:
      return policy.mode satisfies never;
  }
}

/**
 * The day of a session that a time belongs to, as days since the epoch: it begins when the clock on
 * the wall first shows the hour. A clock that is set forward past the hour, or back to before it,
 * begins it once all the same.
 */
function toDay(ms: number, timeZone: string, atHour: number): number {
  const wallMs = ms + findZone(timeZone).offsetAt(ms);
  return Math.floor((wallMs - atHour * HOUR_MS) / DAY_MS);
}
