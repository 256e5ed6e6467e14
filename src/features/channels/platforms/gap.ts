// What is read of the history of a platform after a gap, in which its events did not arrive.

export const GAP = { chatsMax: 200, messagesMax: 1_000, msMax: 24 * 60 * 60_000 };
/** Events of the last seconds before a gap can be missing, too. */
const OVERLAP_MS = 60_000;

/** From when on messages are read, in epoch milliseconds. `lastAtMs`: when the last was sent that is known. */
export function startOfGap(lastAtMs: number): number {
  return Math.max(lastAtMs - OVERLAP_MS, Date.now() - GAP.msMax);
}
