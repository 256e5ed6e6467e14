// What is read of the history of a platform after a gap, in which its events did not arrive.
import { pause } from '../../../clock.ts';
import { PlatformError } from '../platform.ts';

export const GAP = { chatsMax: 200, messagesMax: 1_000, msMax: 24 * 60 * 60_000 };
/** Events of the last seconds before a gap can be missing, too. */
const OVERLAP_MS = 60_000;
const TRIES_MAX = 20;

/** From when on messages are read, in epoch milliseconds. `lastAtMs`: when the last was sent that is known. */
export function startOfGap(lastAtMs: number): number {
  return Math.max(lastAtMs - OVERLAP_MS, Date.now() - GAP.msMax);
}

/** Waits as long as the platform says: to begin the history anew would ask for the same again. */
export async function patiently<Result>(signal: AbortSignal, request: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof PlatformError) || error.retryAfterMs === undefined || tries === TRIES_MAX) throw error;
      await pause(error.retryAfterMs, signal);
    }
  }
}
