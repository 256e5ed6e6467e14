// Progress of long work: a line with a bar that is drawn again on a terminal, and in a pipe a line
// now and then.
import { cut } from './table.ts';
import type { Terminal } from './terminal.ts';

const BAR_CHARS_MAX = 30;
const BAR_CHARS_MIN = 5;
/** The text beside the bar. */
const FACTS_CHARS = 60;
/** In a pipe: one line per this much progress, or per this time. */
const STEP_PERCENT = 5;
const STEP_MS = 30_000;

export interface Progress {
  /** From 0 to 100. */
  percent: number;
  /** What a person reads. */
  facts: string;
  /** What `--json` prints as a line; absent: nothing. */
  json?: unknown;
}

/** Shows each progress that is due; the last one always is. */
export function createProgress(terminal: Terminal): (progress: Progress, isLast: boolean) => void {
  let shownPercent = -STEP_PERCENT;
  let shownAtMs = Number.NEGATIVE_INFINITY;
  return ({ percent, facts, json }, isLast) => {
    const line = `${percent}%  ${facts}`;
    if (terminal.isTty && !terminal.isJson) {
      // A line that the terminal wraps would be two.
      terminal.redraw([cut(`${progressBar(percent, terminal.width)} ${line}`, terminal.width - 1)]);
      return;
    }
    const isDue = percent >= shownPercent + STEP_PERCENT || performance.now() - shownAtMs >= STEP_MS;
    if (!isDue && !isLast) return;
    shownPercent = percent;
    shownAtMs = performance.now();
    if (!terminal.isJson) terminal.print(line);
    else if (json !== undefined) terminal.jsonLine(json);
  };
}

/** The bar for a terminal with this many columns. */
function progressBar(percent: number, width: number): string {
  const chars = Math.min(BAR_CHARS_MAX, Math.max(BAR_CHARS_MIN, width - FACTS_CHARS));
  const full = Math.floor((percent * chars) / 100);
  return `[${'#'.repeat(full)}${'.'.repeat(chars - full)}]`;
}
