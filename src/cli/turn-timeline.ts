// A turn as lines on a terminal: from its journal when it has ended, from its events while it runs.
// Pure.
import type { StepView, TurnView, TurnStatus, TokenUsage } from '../contract/views.ts';
import { formatDuration } from '../core/time.ts';
import { DEFAULT_KEY } from '../kernel/rules/provider-keys.ts';
import { errorText } from './print.ts';
import type { StreamedEvent } from './event-stream.ts';
import { type Style, cut } from './table.ts';

export const TURN_STATUS_STYLES: Record<TurnStatus, Style | undefined> = {
  running: 'cyan',
  parked: 'yellow',
  resuming: 'yellow',
  completed: 'green',
  silent: 'dim',
  failed: 'red',
  aborted: 'yellow',
  timedOut: 'red',
  interrupted: 'yellow',
};

/** What a tool call does, and what came out of it, in one line each. */
export interface CallWords {
  command?: string | null;
  result?: string | null;
}

/**
 * One line for each model call and each tool call, with the time since the turn began and how long
 * it took; `calls`: the words of the tool calls by their ids.
 */
export function stepLines(turn: TurnView, calls: ReadonlyMap<string, CallWords> = new Map()): string[] {
  return turn.steps.flatMap((step) => [...callLines(step, turn), ...toolLines(step, turn, calls)]);
}

function callLines(step: StepView, turn: TurnView): string[] {
  return step.calls.map((call) => {
    const end = call.status === 'ok' ? (call.stopReason ?? 'ok') : `${call.status}: ${errorText(call.error) ?? ''}`;
    const fallback = call.fallbackReason === null ? '' : `  on ${call.model} (${call.fallbackReason})`;
    const key = call.key === null || call.key === DEFAULT_KEY ? '' : `  with the key ${call.key}`;
    const text = `model #${call.n}${fallback}${key}  ${end}  ${usageText(call.usage)}`;
    return timed(turn.startedAt, call.startedAt, `${text}  ${durationBetween(call.startedAt, call.endedAt)}`);
  });
}

function toolLines(step: StepView, turn: TurnView, calls: ReadonlyMap<string, CallWords>): string[] {
  return step.tools.map((tool) => {
    const { command, result } = calls.get(tool.callId) ?? {};
    const said = `${command ? `  ${command}` : ''}${result ? `  → ${result}` : ''}`;
    const runs = tool.runs > 1 ? ` (run ${tool.runs} times)` : '';
    const took = durationBetween(tool.startedAt, tool.endedAt);
    return timed(turn.startedAt, tool.startedAt, `  tool ${tool.name}  ${tool.status}${runs}  ${took}${said}`);
  });
}

/** The line of an event of a running turn; null for events that only programs need. */
export function eventLine(event: StreamedEvent, startedAt: string): string | null {
  const { data } = event;
  const text = (field: string) =>
    typeof data[field] === 'string' || typeof data[field] === 'number' ? String(data[field]) : '';
  const words = (...parts: string[]) => parts.filter((part) => part !== '').join('  ');
  const say = (line: string) => timed(startedAt, event.at, line);
  switch (event.type) {
    case 'turn.started':
      return say(words('turn started', text('worker'), numbered('attempt', text('attempt'))));
    case 'model.started':
      return say(words(numbered('model', text('call')), 'asked', text('model')));
    case 'model.ended':
      return say(
        words(numbered('model', text('call')), text('status'), text('stopReason'), errorText(data['error']) ?? ''),
      );
    case 'model.fallback':
      return say(words('model', `${text('to')} instead of ${text('from')}`, text('reason')));
    case 'tool.started':
      return say(words(`  tool ${text('name')}`, 'started'));
    case 'tool.ended':
      return say(words(`  tool ${text('name')}`, text('status')));
    case 'turn.ended':
      return say(words('turn', text('status'), errorText(data['error']) ?? ''));
    case 'steer.injected':
    case 'compaction.started':
    case 'compaction.ended':
    case 'announce.queued':
      return say(event.type.replace('.', ' '));
    default:
      return null;
  }
}

/** The duration, or the time so far: `-` while it is open. */
export function durationBetween(startedAt: string, endedAt: string | null): string {
  return endedAt === null ? '-' : formatDuration(Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)));
}

/** Tokens in and out; those that the cache served count as in, and are named. */
export function usageText(usage: TokenUsage): string {
  const cached = usage.cacheReadTokens === 0 ? '' : ` (${usage.cacheReadTokens} from the cache)`;
  return `${usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens} in${cached}, ${usage.outputTokens} out`;
}

function timed(startedAt: string, at: string | null, line: string): string {
  const sinceMs = at === null ? 0 : Math.max(0, Date.parse(at) - Date.parse(startedAt));
  return `${(sinceMs / 1000).toFixed(3).padStart(8)}  ${line}`;
}

function numbered(name: string, number: string): string {
  return number === '' ? name : `${name} #${number}`;
}

// Draws a turn on a terminal: a row for each span, with a bar at its time. Pure.

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

/**
 * A model call gets its row when it has ended: until then, a running turn without an open span
 * waits for it.
 */
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
