// Runs long work of the core in slices, between which the process serves other sessions, its API and its leases. The core stays pure: it
// yields where its work can be divided. Work that is shorter than a slice costs no turn of the event loop.
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';

/** With the longest piece that follows, the folding of a long message, a slice stays below 50 ms. */
const SLICE_MS = 20;

export async function runInSlices<Result>(clock: Clock, work: Generator<undefined, Result>): Promise<Result> {
  let beganMs = clock.monotonicMs();
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
    if (clock.monotonicMs() - beganMs < SLICE_MS) continue;
    await setImmediate();
    beganMs = clock.monotonicMs();
  }
}
