// Figures of a batch that several screens show.
import type { Batch } from '../api.ts';

const MICROS = 1_000_000;

/** How many items have ended, with any result. */
export function endedItems({ answered, silent, failed, cancelled, expired }: Batch['counts']): number {
  return answered + silent + failed + cancelled + expired;
}

/** Dollars as whole micro-dollars, to be shown like all other amounts. */
export function microsOf(dollars: number): number {
  return Math.round(dollars * MICROS);
}
