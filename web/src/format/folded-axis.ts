// A time axis on which long idle gaps are folded: a turn that waited two hours and worked ten
// seconds would otherwise be a line and a dot.

/** A part of the time, in milliseconds since 1970. */
export interface Stretch {
  startMs: number;
  endMs: number;
}

export interface FoldedAxis {
  /** The place of a time, from 0 to 1. */
  at: (timeMs: number) => number;
  /** The time at a place; the inverse of `at`. */
  timeAt: (place: number) => number;
  /** The gaps that are folded: where, and how long they are. */
  folds: { place: number; lengthMs: number }[];
}

/**
 * A gap is folded when it is longer than this part of the whole; it is then drawn as long as the
 * other part.
 */
const FOLDED_PART = 0.1;
const DRAWN_PART = 0.02;

/** The axis of some stretches of time, in any order; at least one. */
export function foldedAxis(stretches: readonly Stretch[]): FoldedAxis {
  const sorted = stretches.toSorted((one, other) => one.startMs - other.startMs);
  const startMs = sorted[0]?.startMs ?? 0;
  const endMs = sorted.reduce((latest, stretch) => Math.max(latest, stretch.endMs), startMs);
  const wholeMs = Math.max(1, endMs - startMs);
  const gaps = gapsOf(sorted, FOLDED_PART * wholeMs);
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

  function timeAt(place: number): number {
    let drawn = Math.min(Math.max(place, 0), 1) * lengthMs;
    let timeMs = startMs;
    for (const gap of gaps) {
      const busyMs = gap.startMs - timeMs;
      if (drawn <= busyMs) break;
      const gapMs = gap.endMs - gap.startMs;
      if (drawn <= busyMs + drawnMs) return gap.startMs + ((drawn - busyMs) / drawnMs) * gapMs;
      drawn -= busyMs + drawnMs;
      timeMs = gap.endMs;
    }
    return Math.min(timeMs + drawn, endMs);
  }

  const folds = gaps.map((gap) => ({
    place: at((gap.startMs + gap.endMs) / 2),
    lengthMs: gap.endMs - gap.startMs,
  }));
  return { at, timeAt, folds };
}

/** The gaps between stretches, sorted by their start, that are longer than this. */
function gapsOf(sorted: readonly Stretch[], msMin: number): Stretch[] {
  const gaps: Stretch[] = [];
  let busyUntilMs = sorted[0]?.startMs ?? 0;
  for (const { startMs, endMs } of sorted) {
    if (startMs - busyUntilMs > msMin) gaps.push({ startMs: busyUntilMs, endMs: startMs });
    busyUntilMs = Math.max(busyUntilMs, endMs);
  }
  return gaps;
}

/** The part of a stretch that is within another; null: none is. */
export function within({ startMs, endMs }: Stretch, range: Stretch): Stretch | null {
  const [from, to] = [Math.max(startMs, range.startMs), Math.min(endMs, range.endMs)];
  return from > to ? null : { startMs: from, endMs: to };
}
