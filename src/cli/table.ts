// Tables for a terminal: columns as wide as their content. When the lines would not fit, long texts
// are shortened first, then columns leave in a fixed order (the least important first), then the
// widest one is shortened. Pure. In a pipe the width is endless: nothing leaves, nothing is cut.
import stringWidth from 'string-width';

/** The style of a word on a terminal. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export interface TableColumn<Row> {
  title: string;
  /** Null: an empty cell. A number stands right. */
  value: (row: Row) => string | number | null | undefined;
  /**
   * Columns with the highest number leave first when the table is too wide; absent: it never
   * leaves.
   */
  dropOrder?: number;
  /** A text of any length: it is shortened, down to `PROSE_CHARS_MIN`, before a column leaves. */
  isProse?: boolean;
  align?: 'right';
  style?: (row: Row) => Style | undefined;
}

const GAP = '  ';
/** Enough to recognize a text. */
const PROSE_CHARS_MIN = 24;
const WIDEST_CHARS_MIN = 4;

/** The lines of a table, head first. Cells lose line breaks and control characters. */
export function layOutTable<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  width: number,
  paint: (style: Style, text: string) => string,
): string[] {
  const laid = columns.map((column) => {
    const values = rows.map((row) => column.value(row) ?? '');
    const cells = values.map((value) => oneLine(String(value)));
    const chars = [column.title, ...cells].reduce((most, text) => Math.max(most, stringWidth(text)), 0);
    return { ...column, cells, chars, isRight: column.align === 'right' || typeof values[0] === 'number' };
  });
  const kept = fit(laid, width);
  type Laid = (typeof laid)[number];
  const line = (cellOf: (column: Laid) => string, styleOf: (column: Laid) => Style | undefined) =>
    kept
      .map((column, place) => {
        const text = pad(cut(cellOf(column), column.chars), column, place === kept.length - 1);
        const style = styleOf(column);
        return style === undefined ? text : paint(style, text);
      })
      .join(GAP)
      .trimEnd();
  const head = line(
    ({ title }) => title,
    () => 'dim',
  );
  const formatLine = (row: Row, at: number) =>
    line(
      ({ cells }) => cells[at] ?? '',
      ({ style }) => style?.(row),
    );
  return [head, ...rows.map(formatLine)];
}

interface Widths {
  chars: number;
  dropOrder?: number;
  isProse?: boolean;
}

/**
 * The columns that stay, with their widths. Texts are counted as short as they may become until all
 * others have left that may.
 */
function fit<Column extends Widths>(columns: readonly Column[], width: number): Column[] {
  const shortest = ({ chars, isProse }: Column): number =>
    isProse === true ? Math.min(chars, PROSE_CHARS_MIN) : chars;
  const excess = (charsOf: (column: Column) => number): number =>
    kept.reduce((total, column) => total + charsOf(column), GAP.length * (kept.length - 1)) - width;
  let kept = [...columns];
  for (const leaving of columns.toSorted((a, b) => (b.dropOrder ?? 0) - (a.dropOrder ?? 0)))
    if (leaving.dropOrder !== undefined && excess(shortest) > 0) kept = kept.filter((column) => column !== leaving);
  // The last text first, then the widest column.
  for (const column of kept.toReversed()) {
    const tooMuch = Math.max(
      0,
      excess(({ chars }) => chars),
    );
    if (column.isProse === true) column.chars = Math.max(shortest(column), column.chars - tooMuch);
  }
  const tooMuch = excess(({ chars }) => chars);
  const widest = kept.reduce((best, column) => (column.chars > best.chars ? column : best), kept[0]!);
  if (tooMuch > 0) widest.chars = Math.max(WIDEST_CHARS_MIN, widest.chars - tooMuch);
  return kept;
}

function pad(text: string, { chars, isRight }: { chars: number; isRight: boolean }, isLast: boolean): string {
  const blanks = ' '.repeat(Math.max(0, chars - stringWidth(text)));
  if (isRight) return blanks + text;
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
