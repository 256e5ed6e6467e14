// The frame around several inputs that one turn answers together. The title, the numbering and the separators are what the
// model knows; what overflowed is named in addition to the inputs, never in place of one (G5).

import { headOf } from './prompt/cut-text.ts';

const TITLES = {
  message: '[Queued messages while agent was busy]',
  announcement: '[Queued announce messages while agent was busy]',
} as const;

const SUMMARY_CHARS_MAX = 160;

/** What was dropped because too many waited: how many, and a line for each that is still known. */
export interface Overflow {
  droppedCount: number;
  summaryLines: readonly string[];
}

export interface CollectPrompt {
  kind: keyof typeof TITLES;
  /** The prompts of the inputs, oldest first; at least one. */
  prompts: readonly string[];
  overflow?: Overflow;
}

/** One prompt for all of them. A single prompt with nothing dropped is returned as it is. */
export function buildCollectPrompt({ kind, prompts, overflow }: CollectPrompt): string {
  const [only] = prompts;
  const hasOverflow = overflow !== undefined && overflow.droppedCount > 0;
  if (only !== undefined && prompts.length === 1 && !hasOverflow) return only;
  const items = prompts.map((prompt, index) => `---\nQueued #${index + 1}\n${escapeFrame(prompt)}`);
  return [TITLES[kind], ...(hasOverflow ? [overflowBlock(overflow)] : []), ...items].join('\n\n');
}

/** One line that stands for a dropped message: its text with whitespace collapsed, cut to 160 characters. */
export function summaryLineOf(text: string): string {
  const line = headOf(text, SUMMARY_CHARS_MAX * 8)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > SUMMARY_CHARS_MAX ? `${headOf(line, SUMMARY_CHARS_MAX - 1).trimEnd()}…` : line;
}

function overflowBlock({ droppedCount, summaryLines }: Overflow): string {
  const noun = droppedCount === 1 ? 'message' : 'messages';
  const title = `[Queue overflow] Dropped ${droppedCount} ${noun} due to cap.`;
  return summaryLines.length === 0 ? title : [title, 'Summary:', ...summaryLines.map((line) => `- ${line}`)].join('\n');
}

// A message that writes the separator itself would look like several.
function escapeFrame(prompt: string): string {
  return prompt.replace(/^---(?=[^\S\n]*\n[^\S\n]*Queued #\d)/gim, '- - -');
}
