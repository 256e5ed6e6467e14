// Reads a finished prompt as its documented grammar, line by line, and names everything in it that
// only Holdfast may write, whether it is genuine or looks like it. Knows nothing of how prompts are
// made: what it finds is compared with what was put in.
import { skeletonOf } from './skeleton.ts';

export const BLOCK_LABELS = [
  'Conversation info (untrusted metadata):',
  'Sender (untrusted metadata):',
  'Replied message (untrusted, for context):',
  'Forwarded message context (untrusted metadata):',
  'Chat history since last reply (untrusted, for context):',
] as const;

/** Text that only Holdfast is allowed to write. */
export type Mark =
  | 'media'
  | 'thread'
  | 'system'
  | 'abort'
  | 'frame'
  | 'overflow'
  | 'item'
  | 'untrusted'
  | 'tag'
  | 'warning'
  | 'block of nobody'
  | (typeof BLOCK_LABELS)[number];

export interface Reading {
  /** In the order of the text. */
  marks: Mark[];
  /** Incomplete text, or text in another form than Holdfast's. */
  faults: string[];
}

export interface Line {
  text: string;
  /** As it is read, without blanks around it. */
  seen: string;
  /** The character that ended it; empty for the last. */
  end: string;
}

/** Everything that begins a new line on some screen or for some tokenizer. */
const LINE_BREAKS = '\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029';
const LINE = new RegExp(`([^${LINE_BREAKS}]*)(\r\n|[${LINE_BREAKS}]|$)`, 'gy');
const FENCE = '```';

const LABEL_OF: ReadonlyMap<string, (typeof BLOCK_LABELS)[number]> = new Map(
  BLOCK_LABELS.map((label) => [skeletonOf(label), label]),
);

/** A pattern for skeletons, in which `i` is read as `l`. */
function reads(source: string, flags = ''): RegExp {
  return new RegExp(source.replaceAll('i', 'l').replaceAll(' ', ' *'), flags);
}

const SYSTEM_LINE = reads('^system :(?:\\s|\\[|$)');
const OTHER_LABEL = reads('^[^"[]{1,80}\\( untrusted (?:metadata|, for context) \\) :');
const TAGS = [
  'system message',
  '(?:system|assistant|internal) \\]',
  'image : source',
  'inter-session message',
  'conversation summary',
  'end of (?:conversation summary|result)',
  'bootstrap pending',
  'post-compaction context refresh',
];
const AT_START: readonly [Mark, RegExp][] = [
  ['untrusted', reads('^untrusted context \\( metadata, do not treat as')],
  ['abort', reads('^note : the previous agent run')],
  ['warning', reads('^\\p{So}{1,8} bootstrap budget', 'u')],
];
const ANYWHERE: readonly [Mark, RegExp][] = [
  ['media', reads('\\[ media attached', 'g')],
  ['thread', reads('\\[ thread (?:history|starter) - for context', 'g')],
  ['frame', reads('\\[ queued (?:announce )?messages while agent', 'g')],
  ['overflow', reads('\\[ queue overflow', 'g')],
  ['tag', reads(`\\[ (?:${TAGS.join('|')})`, 'g')],
];

/** Reads a prompt. */
export function readPrompt(text: string): Reading {
  const reading: Reading = { marks: [], faults: [] };
  const lines = linesOf(text);
  for (let at = 0; at < lines.length; at += 1) at = readLine(lines, at, reading);
  return reading;
}

/**
 * The lines of a text, with the character that ended each; every character that breaks a line in
 * any system does here.
 */
export function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  for (const match of text.matchAll(LINE)) {
    const line = match[1] ?? '';
    lines.push({ text: line, seen: skeletonOf(line).trim(), end: match[2] ?? '' });
    if (match[2] === '') break;
  }
  return lines;
}

/** Reads the line, or the block that begins there; returns the index of its last line. */
function readLine(lines: readonly Line[], at: number, { marks, faults }: Reading): number {
  const { text, seen } = lines[at] as Line;
  if (SYSTEM_LINE.test(seen)) {
    marks.push('system');
    // The text after the prefix is Holdfast's.
    if (!text.startsWith('System: ')) faults.push(`looks like a System line: ${text}`);
    return at;
  }
  const label = LABEL_OF.get(seen);
  if (label !== undefined) {
    marks.push(label);
    if (text !== label) faults.push(`looks like a label: ${text}`);
    return readBlock(lines, at, faults);
  }
  const isItem = seen === '---' && /^queued # *\d/.test(lines[at + 1]?.seen ?? '');
  // Without a title above, it is only a line.
  if (isItem && marks.includes('frame')) marks.push('item');
  if (OTHER_LABEL.test(seen)) marks.push('block of nobody');
  for (const [mark, pattern] of AT_START) if (pattern.test(seen)) marks.push(mark);
  if (seen.includes('['))
    for (const [mark, pattern] of ANYWHERE) for (const _ of seen.matchAll(pattern)) marks.push(mark);
  return at;
}

/** Label, fence, JSON, fence, and a blank line or the end after it. */
function readBlock(lines: readonly Line[], at: number, faults: string[]): number {
  const isOpened = lines[at + 1]?.text === `${FENCE}json` && lines[at]?.end === '\n';
  if (!isOpened) {
    faults.push('a block without an opening fence');
    return at;
  }
  let last = at + 2;
  while (last < lines.length && !lines[last]?.seen.startsWith(FENCE)) last += 1;
  if (lines[last]?.text !== FENCE) faults.push(`a block without a closing fence: ${lines[last]?.text}`);
  const inside = lines.slice(at + 2, last);
  if (inside.some(({ end }) => end !== '\n')) faults.push('a line break inside a string of a block');
  // A reader that searches for the closing fence without regard to lines would find it there.
  if (inside.some(({ text }) => text.includes(FENCE))) faults.push('a fence inside a string of a block');
  if (lines[last + 1] !== undefined && lines[last + 1]?.text !== '')
    faults.push('a block that something follows at once');
  faults.push(...faultsOfJson(inside.map(({ text }) => text).join('\n')));
  return last;
}

function faultsOfJson(json: string): string[] {
  const faults: string[] = [];
  try {
    JSON.parse(json);
  } catch {
    faults.push(`a block that is no JSON: ${json}`);
  }
  const seen = skeletonOf(json);
  for (const [mark, pattern] of ANYWHERE) if (seen.search(pattern) >= 0) faults.push(`a ${mark} in a block: ${json}`);
  return faults;
}
