// Entries as text for the model that summarises them: one JSON object a line, so that no text in it
// can imitate another item or the end of the list. The result always fits its bound: long items are
// cut, shorter and shorter, and then the oldest are left out with a note.
import type { ContentBlock, ToolResultBlock } from '../core/content.ts';
import type { PathEntry } from '../core/entry.ts';
import { cutHead, cutTail } from '../core/text.ts';

/** How long items may be, in characters. */
interface ItemCaps {
  text: number;
  call: number;
  result: number;
}

// Tried in this order until everything fits.
const LAST_LEVEL: ItemCaps = { text: 1_500, call: 300, result: 200 };
const LEVELS: readonly ItemCaps[] = [
  { text: 40_000, call: 4_000, result: 2_000 },
  { text: 20_000, call: 3_000, result: 1_500 },
  { text: 10_000, call: 2_000, result: 1_000 },
  { text: 6_000, call: 1_000, result: 700 },
  { text: 4_000, call: 800, result: 500 },
  { text: 3_000, call: 600, result: 400 },
  { text: 2_000, call: 400, result: 300 },
  LAST_LEVEL,
];
const HEAD_SHARE = 0.7;
/** The overhead of a line in addition to its text: keys, escapes of the note. */
const NOTE_CHARS = 80;

/** An item before it is cut. */
type Item =
  | { kind: 'said'; by: 'user' | 'assistant'; text: string }
  | { kind: 'call'; tool: string; input: string }
  | { kind: 'result'; tool: string; hasFailed: boolean; text: string };

export interface SerialisedEntries {
  /** Lines joined by a line break. */
  text: string;
  /** How many of the oldest items did not fit. */
  leftOut: number;
}

/** The entries as lines of at most `charsMax` characters in all. */
export function serialiseEntries(entries: readonly PathEntry[], charsMax: number): SerialisedEntries {
  const items = listItems(entries);
  for (const caps of LEVELS) {
    const lines = fitLines(items, caps, charsMax);
    if (lines !== null) return { text: lines.join('\n'), leftOut: 0 };
  }
  return newestLines(items, charsMax);
}

// Null as soon as it is clear that they do not fit.
function fitLines(items: readonly Item[], caps: ItemCaps, charsMax: number): string[] | null {
  const lines: string[] = [];
  let chars = 0;
  for (const item of items) {
    const line = formatLine(item, caps);
    chars += line.length + 1;
    if (chars > charsMax) return null;
    lines.push(line);
  }
  return lines;
}

function newestLines(items: readonly Item[], charsMax: number): SerialisedEntries {
  const lines: string[] = [];
  let chars = NOTE_CHARS;
  for (const item of items.toReversed()) {
    const line = formatLine(item, LAST_LEVEL);
    chars += line.length + 1;
    if (chars > charsMax) break;
    lines.unshift(line);
  }
  const leftOut = items.length - lines.length;
  return { text: [JSON.stringify({ note: `${leftOut} older items were left out` }), ...lines].join('\n'), leftOut };
}

function listItems(entries: readonly PathEntry[]): Item[] {
  const toolNames = new Map<string, string>();
  return entries.flatMap((entry) =>
    entry.content.flatMap((block): Item[] => {
      if (block.type === 'tool_use') toolNames.set(block.id, block.name);
      return toItems(entry, block, toolNames);
    }),
  );
}

function toItems({ role }: PathEntry, block: ContentBlock, toolNames: ReadonlyMap<string, string>): Item[] {
  switch (block.type) {
    case 'text':
      return block.text.trim() === '' ? [] : [{ kind: 'said', by: role, text: block.text }];
    case 'image':
      return [{ kind: 'said', by: role, text: '[image]' }];
    case 'tool_use':
      return [{ kind: 'call', tool: block.name, input: JSON.stringify(block.input ?? null) }];
    case 'tool_result': {
      const tool = toolNames.get(block.tool_use_id) ?? 'unknown';
      return [{ kind: 'result', tool, hasFailed: block.is_error === true, text: resultText(block) }];
    }
    case 'thinking':
    case 'redacted_thinking':
      return [];
    default:
      return block satisfies never;
  }
}

function resultText({ content }: ToolResultBlock): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '[image]')).join('\n');
}

function formatLine(item: Item, caps: ItemCaps): string {
  switch (item.kind) {
    case 'said':
      return JSON.stringify({ [item.by]: cut(item.text, caps.text) });
    case 'call':
      return JSON.stringify({ call: item.tool, input: cut(item.input, caps.call) });
    case 'result': {
      const text = cut(item.text, caps.result);
      return JSON.stringify(item.hasFailed ? { failed: item.tool, result: text } : { tool: item.tool, result: text });
    }
    default:
      return item satisfies never;
  }
}

function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const head = cutHead(text, Math.floor(charsMax * HEAD_SHARE));
  const tail = cutTail(text, charsMax - Math.floor(charsMax * HEAD_SHARE));
  return `${head}\n[... ${text.length - head.length - tail.length} characters left out ...]\n${tail}`;
}
