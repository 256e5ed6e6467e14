// Waiting for something that can only be asked for.
import { setTimeout as delay } from 'node:timers/promises';

/** Resolves when the answer is true; asks every so many milliseconds. */
export async function until(everyMs: number, isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await delay(everyMs);
}
