// The frame around several inputs that one turn answers together. The title, the numbering and the separators are what the
// model knows; what overflowed is named in addition to the inputs, never in place of one (G5).
import { cutHead } from './text.ts';
import { BLANKS, foldedPattern, foldText, replaceFolded } from '../prompt/fold-text.ts';
import { ownPart, tighten, type PromptPart } from '../prompt/prompt-parts.ts';

const TITLES = {
  message: '[Queued messages while agent was busy]',
  announcement: '[Queued announce messages while agent was busy]',
} as const;

const SUMMARY_CHARS_MAX = 160;

/** The messages that were dropped because too many waited: their number, and a line for each that is still known. */
export interface Overflow {
  droppedCount: number;
  summaryLines: readonly string[];
}

export interface Collection {
  kind: keyof typeof TITLES;
  /** The parts of each input, oldest first; at least one input. */
  inputs: readonly (readonly PromptPart[])[];
  overflow?: Overflow;
}

/** One prompt for all of them. A single input with nothing dropped is returned as it is. Yields between inputs, because they may be long. */
export function* collectParts({ kind, inputs, overflow }: Collection): Generator<undefined, PromptPart[]> {
  const [only] = inputs;
  const hasOverflow = overflow !== undefined && overflow.droppedCount > 0;
  if (only !== undefined && inputs.length === 1 && !hasOverflow) return [...only];
  const collected = [ownPart('queue-frame', TITLES[kind]), ...(hasOverflow ? overflowParts(overflow) : [])];
  for (const [index, parts] of inputs.entries()) {
    collected.push(ownPart('queue-frame', `---\nQueued #${index + 1}`), ...tighten(parts.map(withoutFrame)));
    yield;
  }
  return collected;
}

/** One line that represents a dropped message: its text with whitespace collapsed, cut to 160 characters. */
export function formatSummaryLine(text: string): string {
  const line = cutHead(text, SUMMARY_CHARS_MAX * 8)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > SUMMARY_CHARS_MAX ? `${cutHead(line, SUMMARY_CHARS_MAX - 1).trimEnd()}…` : line;
}

function overflowParts({ droppedCount, summaryLines }: Overflow): PromptPart[] {
  const noun = droppedCount === 1 ? 'message' : 'messages';
  const title = `[Queue overflow] Dropped ${droppedCount} ${noun} due to cap.`;
  if (summaryLines.length === 0) return [ownPart('queue-overflow', title)];
  const text = summaryLines.map((line) => `- ${formatSummaryLine(line)}`).join('\n');
  return [
    ownPart('queue-overflow', `${title}\nSummary:`),
    { name: 'queue-overflow', origin: 'sender', trust: 'untrusted', text, isTight: true },
  ];
}

const SEPARATOR = foldedPattern(`^${BLANKS}*---(?=${BLANKS}*\\n${BLANKS}*queued${BLANKS}*#${BLANKS}*\\d)`, 'gm');

// A message that contains the separator, or text that looks like it, would look like several messages.
function withoutFrame(part: PromptPart): PromptPart {
  return { ...part, text: replaceFolded(foldText(part.text), SEPARATOR, () => '- - -') };
}
