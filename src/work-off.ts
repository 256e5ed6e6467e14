// The portions of a work list (docs/decisions/0077): what is too much for one statement is done in
// bounded ones. Each stores what it did, or is safe to repeat, so work that a crash has broken off
// continues with what is left.
import { pause } from './clock.ts';

/**
 * Does portions until one resolves with false (nothing is left), the most have been done, or the
 * signal aborts.
 */
export async function workOff(
  portion: () => Promise<boolean>,
  {
    signal,
    portionsMax = Number.POSITIVE_INFINITY,
    pauseMs = 0,
  }: {
    signal?: AbortSignal;
    portionsMax?: number;
    /** Between two portions: at least this, and at least as long as the last one took; 0: none. */
    pauseMs?: number;
  } = {},
): Promise<void> {
  for (let done = 1; signal?.aborted !== true; done += 1) {
    const begin = performance.now();
    if (!(await portion()) || done >= portionsMax) return;
    if (pauseMs > 0) await pause(Math.max(pauseMs, performance.now() - begin), signal);
  }
}
