// System events as lines before a prompt. Every line of an event carries the prefix, so that no text of an event can imitate
// something else; heartbeat noise is filtered, and a filtered event is consumed, too.
import { formatEventTime, type EnvelopeZone } from '../prompt/envelope-time.ts';
import { LINE_BREAKS } from '../prompt/fold-text.ts';
import type { PromptPart } from '../prompt/prompt-parts.ts';
import { neutralise } from '../prompt/untrusted-text.ts';

export interface SystemEvent {
  text: string;
  /** When it was queued, epoch milliseconds. */
  createdAt: number;
  /** False for text that came from outside, which is marked in its prefix. */
  isTrusted: boolean;
}

const LINE_BREAK = new RegExp(`\r\n|[${LINE_BREAKS}]`);
const NODE_NOISE = ' · last input ';

/** The text of an event in the prompt, or null when it is noise. */
export function compactSystemEvent(raw: string): string | null {
  const text = raw.trim();
  const lower = text.toLowerCase();
  if (text === '' || lower.includes('reason periodic') || lower.startsWith('read heartbeat.md')) return null;
  if (lower.includes('heartbeat poll') || lower.includes('heartbeat wake')) return null;
  return text.startsWith('Node:') ? withoutLastInput(text) : text;
}

/** The events as parts of a prompt, oldest first, line under line; noise is left out. */
export function eventParts(events: readonly SystemEvent[], zone: EnvelopeZone): PromptPart[] {
  return events
    .map((event): PromptPart => ({
      name: 'system-event',
      origin: event.isTrusted ? 'holdfast' : 'channel',
      trust: event.isTrusted ? 'trusted' : 'untrusted',
      text: formatLines(event, zone).join('\n'),
      isTight: true,
    }))
    .filter(({ text }) => text !== '');
}

// Only the first line carries the time.
function formatLines({ text, createdAt, isTrusted }: SystemEvent, zone: EnvelopeZone): string[] {
  const compacted = compactSystemEvent(text);
  if (compacted === null) return [];
  const prefix = isTrusted ? 'System:' : 'System (untrusted):';
  const shown = isTrusted ? compacted : neutralise(compacted);
  const lines = shown.split(LINE_BREAK).filter((line) => line.trim() !== '');
  return lines.map((line, index) =>
    index === 0 ? `${prefix} [${formatEventTime(createdAt, zone)}] ${line}` : `${prefix} ${line}`,
  );
}

// `Node: gw · last input 3s · ok` is `Node: gw · ok`.
function withoutLastInput(text: string): string {
  const start = text.indexOf(NODE_NOISE);
  if (start < 0) return text;
  const next = text.indexOf('·', start + NODE_NOISE.length);
  return next < 0 ? text.slice(0, start) : `${text.slice(0, start)} ${text.slice(next)}`;
}
