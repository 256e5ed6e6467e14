// Tables for a terminal: columns as wide as their content. When the lines would not fit, long texts are shortened first, then columns leave
// in a fixed order (the least important first), then the widest one is shortened. Pure. In a pipe the width is endless: nothing leaves, nothing is cut.
import stringWidth from 'string-width';
import type { Style } from './style.ts';

export interface TableColumn<Row> {
  title: string;
  value: (row: Row) => string;
  /** Columns with the highest number leave first when the table is too wide; absent: it never leaves. */
  dropOrder?: number;
  /** A text of any length: it is shortened, down to `PROSE_CHARS_MIN`, before a column leaves. */
  isProse?: boolean;
  align?: 'right';
  style?: (row: Row) => Style | undefined;
}

const GAP = '  ';
/** Enough to recognize a text. */
const PROSE_CHARS_MIN = 24;

/** The lines of a table, head first. Cells lose line breaks and control characters. */
export function layOutTable<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  width: number,
  paint: (style: Style, text: string) => string,
): string[] {
  const cells = rows.map((row) => columns.map((column) => oneLine(column.value(row))));
  const widths = columns.map((column, at) =>
    Math.max(stringWidth(column.title), ...cells.map((line) => stringWidth(line[at] ?? ''))),
  );
  const kept = fittingColumns(columns, widths, width);
  shrinkProse(columns, { kept, widths, width });
  shrinkWidest(kept, widths, width);
  const line = (texts: readonly string[], style: (at: number) => Style | undefined) =>
    kept
      .map((at, place) => {
        const text = pad(
          cut(texts[at] ?? '', widths[at] ?? 0),
          widths[at] ?? 0,
          columns[at]?.align,
          place === kept.length - 1,
        );
        const painted = style(at);
        return painted === undefined ? text : paint(painted, text);
      })
      .join(GAP)
      .trimEnd();
  const head = line(
    columns.map((column) => column.title),
    () => 'dim',
  );
  return [head, ...cells.map((texts, at) => line(texts, (column) => columns[column]?.style?.(rows[at] as Row)))];
}

/** Which columns stay, by their index: texts are counted as short as they may become. */
function fittingColumns<Row>(
  columns: readonly TableColumn<Row>[],
  content: readonly number[],
  width: number,
): number[] {
  const widths = content.map((chars, at) => (columns[at]?.isProse === true ? Math.min(chars, PROSE_CHARS_MIN) : chars));
  const kept = columns.map((_, at) => at);
  const byDropOrder = kept
    .filter((at) => columns[at]?.dropOrder !== undefined)
    .toSorted((a, b) => (columns[b]?.dropOrder ?? 0) - (columns[a]?.dropOrder ?? 0));
  for (const leaving of byDropOrder) {
    if (totalWidth(kept, widths) <= width) break;
    kept.splice(kept.indexOf(leaving), 1);
  }
  return kept;
}

/** Shortens texts by the excess width, the last one first. */
function shrinkProse<Row>(
  columns: readonly TableColumn<Row>[],
  { kept, widths, width }: { kept: readonly number[]; widths: number[]; width: number },
): void {
  for (const at of kept.toReversed()) {
    const tooMuch = totalWidth(kept, widths) - width;
    if (tooMuch <= 0) return;
    const chars = widths[at] ?? 0;
    if (columns[at]?.isProse === true && chars > PROSE_CHARS_MIN)
      widths[at] = Math.max(PROSE_CHARS_MIN, chars - tooMuch);
  }
}

/** Shortens the widest of the remaining columns by the excess width. */
function shrinkWidest(kept: readonly number[], widths: number[], width: number): void {
  const tooMuch = totalWidth(kept, widths) - width;
  if (tooMuch <= 0) return;
  const widest = kept.reduce((best, at) => ((widths[at] ?? 0) > (widths[best] ?? 0) ? at : best), kept[0] ?? 0);
  widths[widest] = Math.max(4, (widths[widest] ?? 0) - tooMuch);
}

function totalWidth(kept: readonly number[], widths: readonly number[]): number {
  return kept.reduce((total, at) => total + (widths[at] ?? 0), GAP.length * (kept.length - 1));
}

function pad(text: string, width: number, align: 'right' | undefined, isLast: boolean): string {
  const blanks = ' '.repeat(Math.max(0, width - stringWidth(text)));
  if (align === 'right') return blanks + text;
  return isLast ? text : text + blanks;
}

/** At most `width` columns of a text, ending in `…` when something is missing. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const next = used + stringWidth(segment);
    if (next > width - 1) break;
    kept += segment;
    used = next;
  }
  return `${kept}…`;
}

const graphemes = new Intl.Segmenter();

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/\p{Cc}/gu, '');
}
