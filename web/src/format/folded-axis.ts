// A time axis on which long idle gaps are folded: a turn that waited two hours and worked ten seconds would otherwise be a line and a dot.

interface Stretch {
  startMs: number;
  endMs: number;
}

export interface FoldedAxis {
  /** The place of a time, from 0 to 1. */
  at: (timeMs: number) => number;
  /** The places where a gap is folded. */
  folds: number[];
}

/** A gap is folded when it is longer than this part of the whole; it is then drawn as long as the other part. */
const FOLDED_PART = 0.1;
const DRAWN_PART = 0.02;

/** The axis of some stretches of time, in any order; at least one. */
export function foldedAxis(stretches: readonly Stretch[]): FoldedAxis {
  const sorted = stretches.toSorted((one, other) => one.startMs - other.startMs);
  const startMs = sorted[0]?.startMs ?? 0;
  const endMs = Math.max(startMs, ...sorted.map((stretch) => stretch.endMs));
  const wholeMs = Math.max(1, endMs - startMs);
  const gaps: Stretch[] = [];
  let busyUntilMs = startMs;
  for (const stretch of sorted) {
    if (stretch.startMs - busyUntilMs > FOLDED_PART * wholeMs)
      gaps.push({ startMs: busyUntilMs, endMs: stretch.startMs });
    busyUntilMs = Math.max(busyUntilMs, stretch.endMs);
  }
  const drawnMs = DRAWN_PART * wholeMs;
  const foldedMs = gaps.reduce((sum, gap) => sum + (gap.endMs - gap.startMs) - drawnMs, 0);
  const lengthMs = wholeMs - foldedMs;

  function at(timeMs: number): number {
    const inside = Math.min(Math.max(timeMs, startMs), endMs);
    let drawn = inside - startMs;
    for (const gap of gaps) {
      if (inside <= gap.startMs) break;
      const passed = Math.min(inside, gap.endMs) - gap.startMs;
      const part = passed / (gap.endMs - gap.startMs);
      drawn -= passed - part * drawnMs;
    }
    return drawn / lengthMs;
  }

  return { at, folds: gaps.map((gap) => at((gap.startMs + gap.endMs) / 2)) };
}
