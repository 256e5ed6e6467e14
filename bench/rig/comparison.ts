// Two commits compared with the floor, as a table.
import { formatNumber } from './bar.ts';

export interface ComparisonRow {
  what: string;
  unit: string;
  /** Null where the floor has no such figure. */
  floor: number | null;
  before: number;
  after: number;
  /** `after` to `before`, and `after` to the floor, each the median of the rounds. */
  change: number;
  ofFloor: number | null;
}

/** The rows as a table for a terminal, one string per line. */
export function formatComparison(rows: readonly ComparisonRow[]): string[] {
  const header = ['', 'floor', 'before', 'after', 'after/before', 'after/floor'];
  const cells = rows.map(({ what, unit, floor, before, after, change, ofFloor }) => [
    what,
    ...[floor, before, after].map((value) => (value === null ? '-' : formatNumber(value) + unit)),
    ...[change, ofFloor].map((value) => (value === null ? '-' : value.toFixed(2))),
  ]);
  const widths = header.map((_, column) => Math.max(...[header, ...cells].map((row) => row[column]!.length)));
  return [header, ...cells].map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  '),
  );
}
