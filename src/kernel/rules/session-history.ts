// A session's past as another agent sees it: the newest texts, each bounded and bounded together.
// Tool results are left out unless requested: they are most of the bytes and little of the meaning.
import { cutHead, isBlank, storableText } from '../../core/text.ts';
import { joinText, textOfResult, type ContentBlock } from '../../core/content.ts';
import { boundedResult, isAnnounceSkip } from '../../core/subagents.ts';
import type { Entry } from '../../core/entry.ts';
import { withoutTokens } from '../../core/reply.ts';

export interface HistoryItem {
  role: 'user' | 'assistant' | 'tool';
  text: string;
}

export interface HistoryOptions {
  /** The most items. */
  limit: number;
  includeTools: boolean;
}

const TEXT_CHARS_MAX = 4_000;
/** The limit of all texts together. */
const CHARS_MAX = 80_000;

/** The newest items of a session, oldest first. */
export function shownHistory(
  entries: readonly { role: 'user' | 'assistant'; content: readonly ContentBlock[] }[],
  { limit, includeTools }: HistoryOptions,
): HistoryItem[] {
  const shown: HistoryItem[] = [];
  let chars = 0;
  for (let at = entries.length - 1; at >= 0 && shown.length < limit; at -= 1) {
    const entry = entries[at];
    for (const item of (entry === undefined ? [] : toItems(entry, includeTools)).toReversed()) {
      chars += item.text.length;
      if (shown.length >= limit || chars > CHARS_MAX) return shown.toReversed();
      shown.push(item);
    }
  }
  return shown.toReversed();
}

function toItems(
  { role, content }: { role: 'user' | 'assistant'; content: readonly ContentBlock[] },
  includeTools: boolean,
): HistoryItem[] {
  const said = joinText(content);
  const items: HistoryItem[] = isBlank(said) ? [] : [{ role, text: bounded(said) }];
  return includeTools ? [...items, ...content.flatMap(toolItem)] : items;
}

function toolItem(block: ContentBlock): HistoryItem[] {
  if (block.type === 'tool_use') {
    return [{ role: 'tool', text: bounded(`call ${block.name} ${JSON.stringify(block.input)}`) }];
  }
  return block.type === 'tool_result' ? [{ role: 'tool', text: bounded(`result ${textOfResult(block)}`) }] : [];
}

function bounded(text: string): string {
  if (text.length <= TEXT_CHARS_MAX) return text;
  return `${cutHead(text, TEXT_CHARS_MAX)}\n[... ${text.length - TEXT_CHARS_MAX} more characters]`;
}

// The result of a subagent: its last text, or the result of its last tool when it wrote none.

export type OutputEntry = Pick<Entry, 'kind' | 'content'>;

/**
 * The text of the last answer that says something; null: none does. Bounded, and fit to be stored.
 */
export function findLastAnswer(entries: readonly OutputEntry[]): string | null {
  return findLastText(entries, 'answer', ({ content }) => spokenText(joinText(content)));
}

/** The same, otherwise the text of the last result of a tool: for a run that was interrupted. */
export function findLastOutput(entries: readonly OutputEntry[]): string | null {
  return findLastAnswer(entries) ?? findLastText(entries, 'results', ({ content }) => joinResultText(content));
}

function findLastText(
  entries: readonly OutputEntry[],
  kind: Entry['kind'],
  read: (entry: OutputEntry) => string,
): string | null {
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at];
    const text = entry?.kind === kind ? read(entry) : '';
    if (!isBlank(text)) return boundedResult(storableText(text));
  }
  return null;
}

/** An answer without the silent tokens. */
function spokenText(text: string): string {
  const spoken = withoutTokens(text, null);
  return isAnnounceSkip(spoken) ? '' : spoken;
}

function joinResultText(content: Entry['content']): string {
  const result = content.findLast((block) => block.type === 'tool_result');
  return result === undefined ? '' : textOfResult(result);
}
