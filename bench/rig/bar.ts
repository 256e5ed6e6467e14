// What a benchmark reports: one line per figure, with the baseline measured in the same run beside
// it, and its bar if it has one.

export type BarLine = Figure & Bar;

interface Figure {
  part: string;
  what: string;
  /** The measured values of the baseline and of Holdfast, with units, for the reader. */
  floor: string;
  holdfast: string;
  /**
   * The number that is judged; null when this machine cannot measure it, and then `holdfast` says
   * why.
   */
  measured: number | null;
  unit: string;
}

/** A figure without a bar is printed for comparison only. */
type Bar = { bar: number | null; sense: 'atLeast' | 'atMost' } | { bar: null };

export type Verdict = 'pass' | 'MISS' | 'not measured' | 'no bar';

/** Judges a line. A figure that was not measured does not pass. */
export function verdictOf(line: BarLine): Verdict {
  if (line.measured === null) return 'not measured';
  if (line.bar === null) return 'no bar';
  const isMet = line.sense === 'atLeast' ? line.measured >= line.bar : line.measured <= line.bar;
  return isMet ? 'pass' : 'MISS';
}

/** The lines as a table for a terminal. */
export function formatBars(lines: readonly BarLine[]): string {
  const header = ['part', 'what', 'floor', 'holdfast', 'measured', 'bar', ''];
  const rows = lines.map((line) => [
    line.part,
    line.what,
    line.floor,
    line.holdfast,
    line.measured === null ? '-' : formatNumber(line.measured) + line.unit,
    barText(line),
    verdictOf(line),
  ]);
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => row[column]!.length)));
  return [header, widths.map((width) => '-'.repeat(width)), ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function barText(line: BarLine): string {
  return line.bar === null ? '-' : `${line.sense === 'atLeast' ? '>=' : '<='} ${formatNumber(line.bar)}${line.unit}`;
}

/** A number with as many digits as its size deserves. */
export function formatNumber(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
