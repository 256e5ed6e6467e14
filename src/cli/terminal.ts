// What a command writes: data to stdout, everything else to stderr, colour only where a person looks. Text from elsewhere (replies,
// names) loses its control characters on a terminal, so that no message can control the terminal.
import { styleText } from 'node:util';
import { terminalSettings } from '../config/client-settings.ts';
import type { Style } from './style.ts';
import { layOutTable, type TableColumn } from './table.ts';

export interface Terminal {
  /** Data is one JSON document (or JSON lines for streams) instead of text. */
  readonly isJson: boolean;
  /** stdout is a terminal: a person reads along. */
  readonly isTty: boolean;
  /** Columns of stdout. */
  readonly width: number;
  /** Lines of stdout. */
  readonly height: number;
  /** A line of data. */
  readonly print: (line: string) => void;
  /** Draws lines in the place of those that it drew last. Only for a terminal. */
  readonly redraw: (lines: readonly string[]) => void;
  /** Data as it arrives, without a newline. */
  readonly write: (text: string) => void;
  /** A JSON document: indented for a person, on one line for a pipe. */
  readonly json: (value: unknown) => void;
  /** One line of JSON lines. */
  readonly jsonLine: (value: unknown) => void;
  /** Progress, hints, warnings. Silent with `--json`. */
  readonly note: (line: string) => void;
  /** An error, also with `--json`. */
  readonly error: (line: string) => void;
  readonly table: <Row>(columns: readonly TableColumn<Row>[], rows: readonly Row[]) => void;
  /** For stdout. */
  readonly paint: (style: Style, text: string) => string;
  /** A stored time: relative on a terminal, ISO 8601 in a pipe, `-` for none. */
  readonly time: (iso: string | null | undefined) => string;
}

export interface TerminalOptions {
  isJson: boolean;
  /** False for `--no-color`. */
  mayColor: boolean;
}

/** The terminal of this process. */
export function openTerminal(options: TerminalOptions): Terminal {
  const { stdout, stderr } = process;
  // A reader that has seen enough (`| head`) is no fault.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  const settings = terminalSettings();
  const hasColor = (isTty: boolean) =>
    options.mayColor && settings.color !== 'never' && (settings.color === 'always' || (isTty && !settings.isDumb));
  const outHasColor = !options.isJson && hasColor(stdout.isTTY);
  const errHasColor = hasColor(stderr.isTTY);
  const isTty = stdout.isTTY === true;
  const height = isTty ? stdout.rows || 24 : Number.POSITIVE_INFINITY;
  const width = isTty ? stdout.columns || 80 : Number.POSITIVE_INFINITY;
  let drawn = 0;
  const paint = (style: Style, text: string) =>
    outHasColor ? styleText(style, text, { validateStream: false }) : text;
  const writeData = (text: string) => {
    if (isTty) stdout.write(options.isJson ? harmlessJson(text) : harmless(text, outHasColor));
    else stdout.write(text);
  };
  return {
    isJson: options.isJson,
    isTty,
    width,
    height,
    paint,
    print: (line) => writeData(`${line}\n`),
    redraw: (lines) => {
      const text = lines.map((line) => `${harmless(line, outHasColor)}\n`).join('');
      stdout.write(`${drawn === 0 ? '' : `${ESC}[${drawn}A${ESC}[0J`}${text}`);
      drawn = lines.length;
    },
    write: writeData,
    json: (value) => writeData(`${JSON.stringify(value, undefined, isTty ? 2 : undefined)}\n`),
    jsonLine: (value) => writeData(`${JSON.stringify(value)}\n`),
    note: (line) => {
      if (!options.isJson) stderr.write(`${errHasColor ? styleText('dim', line, { validateStream: false }) : line}\n`);
    },
    error: (line) => void stderr.write(`${line}\n`),
    table: (columns, rows) => {
      for (const line of layOutTable(columns, rows, width, paint)) writeData(`${line}\n`);
    },
    time: (iso) => (iso === null || iso === undefined ? '-' : isTty ? relativeTime(Date.parse(iso), Date.now()) : iso),
  };
}

/** `3m ago`, `in 2h`; the unit is the largest that fits. */
export function relativeTime(thenMs: number, nowMs: number): string {
  const seconds = Math.round(Math.abs(nowMs - thenMs) / 1000);
  const [amount, unit] =
    seconds < 60
      ? [seconds, 's']
      : seconds < 3600
        ? [Math.floor(seconds / 60), 'm']
        : seconds < 86_400
          ? [Math.floor(seconds / 3600), 'h']
          : [Math.floor(seconds / 86_400), 'd'];
  if (amount === 0) return 'now';
  return thenMs > nowMs ? `in ${amount}${unit}` : `${amount}${unit} ago`;
}

/** JSON with those characters as escapes: the same value. JSON itself has no others outside of its strings. */
export function harmlessJson(json: string): string {
  return json.replaceAll(
    /(?![\n\t\r])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Our own colours, and only those: others could hide text. */
const OWN_COLOR = /^\p{Cc}\[(?:1|2|22|3[1-6]|39)m$/u;
const ESC = String.fromCodePoint(27);

/** Text without control characters but newline and tab, and without marks that reverse its direction; our own colours stay on request. */
export function harmless(text: string, keepsColor: boolean): string {
  return text.replaceAll(/\p{Cc}\[[0-9;]*m|(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu, (found) =>
    keepsColor && found.startsWith(ESC) && OWN_COLOR.test(found) ? found : '',
  );
}
