// The result of a subagent: its last text, or the result of its last tool when it wrote none.
import { boundedResult, isAnnounceSkip } from './announcement.ts';
import { isBlank, storableText } from './text.ts';
import { joinText, textOfResult } from './content.ts';
import type { Entry } from './entry.ts';
import { withoutTokens } from './next-steps.ts';

export type OutputEntry = Pick<Entry, 'kind' | 'content'>;

/** The text of the last answer that says something; null: none does. Bounded, and fit to be stored. */
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
