// What a command writes: data to stdout, everything else to stderr, colour only where a person
// looks. Text from elsewhere (replies, names) loses its control characters on a terminal, so that
// no message can control the terminal.
import { styleText } from 'node:util';
import { terminalSettings } from '../config/process-environment.ts';
import { EXIT } from './cli-error.ts';
import { explainCause } from './file-error.ts';
import { layOutTable, type Style, type TableColumn } from './table.ts';

export type Terminal = ReturnType<typeof openTerminal>;

/** The terminal of this process. `mayColor` is false for `--no-color`. */
export function openTerminal({ isJson, mayColor }: { isJson: boolean; mayColor: boolean }) {
  const { stdout, stderr } = process;
  // A reader that has seen enough (`| head`) is no fault.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    const reason = explainCause('write', error);
    process.stderr.write(`holdfast: cannot write to standard output: ${reason}\nFix: write it to another place\n`);
    process.exit(EXIT.failed);
  });
  const settings = terminalSettings();
  const hasColor = (isTty: boolean) =>
    mayColor && settings.color !== 'never' && (settings.color === 'always' || (isTty && !settings.isDumb));
  const outHasColor = !isJson && hasColor(stdout.isTTY);
  const errHasColor = hasColor(stderr.isTTY);
  const isTty = stdout.isTTY === true;
  const width = isTty ? stdout.columns || 80 : Number.POSITIVE_INFINITY;
  let drawn = 0;
  const paint = (style: Style, text: string) =>
    outHasColor ? styleText(style, text, { validateStream: false }) : text;
  const write = (text: string): void => {
    if (isTty) stdout.write(isJson ? harmlessJson(text) : harmless(text, outHasColor));
    else stdout.write(text);
  };
  return {
    /** Data is one JSON document (or JSON lines for streams) instead of text. */
    isJson,
    /** stdout is a terminal: a person reads along. */
    isTty,
    width,
    height: isTty ? stdout.rows || 24 : Number.POSITIVE_INFINITY,
    /** For stdout. */
    paint,
    /** A line of data. */
    print: (line: string): void => write(`${line}\n`),
    /** Draws lines in the place of those that it drew last. Only for a terminal. */
    redraw: (lines: readonly string[]): void => {
      const text = lines.map((line) => `${harmless(line, outHasColor)}\n`).join('');
      stdout.write(`${drawn === 0 ? '' : `${ESC}[${drawn}A${ESC}[0J`}${text}`);
      drawn = lines.length;
    },
    /** Data as it arrives, without a newline. */
    write,
    /** A JSON document: indented for a person, on one line for a pipe. */
    json: (value: unknown): void => write(`${JSON.stringify(value, undefined, isTty ? 2 : undefined)}\n`),
    jsonLine: (value: unknown): void => write(`${JSON.stringify(value)}\n`),
    /** Progress, hints, warnings. Silent with `--json`. */
    note: (line: string): void => {
      if (!isJson) stderr.write(`${errHasColor ? styleText('dim', line, { validateStream: false }) : line}\n`);
    },
    /** An error, also with `--json`. */
    error: (line: string): void => void stderr.write(`${line}\n`),
    table: <Row>(columns: readonly TableColumn<Row>[], rows: readonly Row[]): void => {
      for (const line of layOutTable(columns, rows, width, paint)) write(`${line}\n`);
    },
    /** A stored time: relative on a terminal, ISO 8601 in a pipe, `-` for none. */
    time: (iso: string | null | undefined): string => {
      if (iso === null || iso === undefined) return '-';
      return isTty ? relativeTime(Date.parse(iso), Date.now()) : iso;
    },
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

/**
 * JSON with those characters as escapes: the same value. JSON itself has no others outside of its
 * strings.
 */
export function harmlessJson(json: string): string {
  return json.replaceAll(
    /(?![\n\t\r])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Our own colours, and only those: others could hide text. */
const OWN_COLOR = /^\p{Cc}\[(?:1|2|22|3[1-6]|39)m$/u;
const ESC = String.fromCodePoint(27);

/**
 * Text without control characters but newline and tab, and without marks that reverse its
 * direction; our own colours stay on request.
 */
export function harmless(text: string, keepsColor: boolean): string {
  return text.replaceAll(/\p{Cc}\[[0-9;]*m|(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu, (found) =>
    keepsColor && found.startsWith(ESC) && OWN_COLOR.test(found) ? found : '',
  );
}
