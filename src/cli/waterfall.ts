// Draws a turn on a terminal: a row for each span, with a bar at its time. Pure.
import type { TurnView } from '../contract/views.ts';
import { formatDuration } from '../config/durations.ts';
import { cut, type Style } from './table.ts';

type Span = TurnView['spans'][number];

const NAME_CHARS_MAX = 28;
const DURATION_CHARS = 8;
const BAR_CHARS_MIN = 10;
/** Two rules and two blanks. */
const AROUND_CHARS = 4;

const STYLES: Partial<Record<Span['kind'], Style>> = {
  'model.call': 'cyan',
  compaction: 'cyan',
  'tool.exec': 'green',
  'worker.lost': 'red',
};

export interface Canvas {
  /** Columns of the terminal. */
  width: number;
  /** The most rows; of more stretches, the last are drawn. */
  rowsMax: number;
  nowMs: number;
  paint: (style: Style, text: string) => string;
}

/** The drawing, in lines of at most the width; open spans reach to its right edge. */
export function waterfallLines(turn: TurnView, { width, rowsMax, nowMs, paint }: Canvas): string[] {
  const spans = [...turn.spans, ...underWay(turn)];
  if (spans.length === 0) return [];
  const fromMs = Math.min(...spans.map(({ startedAt }) => Date.parse(startedAt)));
  const endOf = ({ endedAt }: Pick<Span, 'endedAt'>): number => (endedAt === null ? nowMs : Date.parse(endedAt));
  const toMs = Math.max(fromMs + 1, ...spans.map(endOf));
  const names = spans.map(formatName);
  const nameChars = Math.min(NAME_CHARS_MAX, Math.max(...names.map((name) => name.length)));
  const barChars = Math.max(BAR_CHARS_MIN, width - nameChars - DURATION_CHARS - AROUND_CHARS);
  const toColumn = (ms: number): number => Math.round(((ms - fromMs) / (toMs - fromMs)) * barChars);
  const lines = spans.map((span, at) => {
    const startMs = Date.parse(span.startedAt);
    const begin = Math.min(toColumn(startMs), barChars - 1);
    const chars = Math.max(1, toColumn(endOf(span)) - begin);
    const bar = paint(styleOf(span), (span.endedAt === null ? '░' : '█').repeat(chars));
    const row = `${' '.repeat(begin)}${bar}${' '.repeat(barChars - begin - chars)}`;
    const took = formatDuration(Math.max(0, endOf(span) - startMs));
    return `${cut(names[at]!, nameChars).padEnd(nameChars)} │${row}│ ${took.padStart(DURATION_CHARS)}`;
  });
  const left = lines.length - rowsMax;
  return left <= 0 ? lines : [`… ${left + 1} earlier`, ...lines.slice(left + 1)];
}

/** A model call gets its row when it has ended: until then, a running turn without an open span waits for it. */
function underWay({ status, spans }: TurnView): Span[] {
  if (status !== 'running' || spans.some(({ endedAt }) => endedAt === null)) return [];
  const ends = spans.flatMap(({ endedAt }) => endedAt ?? []).toSorted();
  const startedAt = ends.at(-1);
  return startedAt === undefined ? [] : [{ kind: 'model.call', name: 'model', n: null, startedAt, endedAt: null }];
}

/** What did not end well has the colour of its outcome: an unknown one is not green. */
function styleOf({ kind, status }: Span): Style {
  if (status === 'failed') return 'red';
  return status === 'unknown' ? 'yellow' : (STYLES[kind] ?? 'yellow');
}

function formatName({ kind, name, n, status }: Span): string {
  if (kind === 'tool.exec')
    return status === 'unknown' || status === 'failed' ? `tool ${name} ${status}` : `tool ${name}`;
  if (kind === 'worker.lost') return `${kind} ${name}`;
  return n === null ? kind : `${kind} ${n}`;
}
