// Whether a session shows what its model thinks (`/reasoning`): `off`: nowhere. `on`: before each reply. `stream`: in live events while it
// arrives, and not in the reply.
import type { ContentBlock } from './content.ts';
import { textOf } from './content.ts';

export const REASONING_LEVELS = ['off', 'on', 'stream'] as const;

export type ReasoningLevel = (typeof REASONING_LEVELS)[number];

/** The level that a word names, in any case; null when it is none. */
export function parseReasoningLevel(word: string): ReasoningLevel | null {
  return REASONING_LEVELS.find((level) => level === word.trim().toLowerCase()) ?? null;
}

/** The level of a session; null: it has no setting. Other values are from rows of a later version. */
export function reasoningOf(level: string | null): ReasoningLevel {
  return parseReasoningLevel(level ?? '') ?? 'off';
}

/** A reply preceded by the thinking of its answer; the reply alone when there was none. */
export function withReasoning(reply: string, answer: readonly ContentBlock[], hasReasoningTags: boolean): string {
  const thoughts = answer.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : []));
  const tagged = hasReasoningTags ? taggedReasoning(textOf(answer)) : [];
  const shown = [...thoughts, ...tagged].map((thought) => thought.trim()).filter((thought) => thought !== '');
  return shown.length === 0 ? reply : `Reasoning:\n${shown.join('\n\n')}\n\n${reply}`;
}

const OPEN_THINK = /<(think(?:ing)?|thought)(?:\s[^<>]{0,200})?>/gi;

/** The text inside `<think>`; one that is not closed ends where `<final>` begins, or with the text. One walk over it. */
function taggedReasoning(text: string): string[] {
  const lower = text.toLowerCase();
  const found: string[] = [];
  for (let from = 0; ;) {
    OPEN_THINK.lastIndex = from;
    const open = OPEN_THINK.exec(text);
    if (open === null) return found;
    const begin = open.index + open[0].length;
    const close = lower.indexOf(`</${(open[1] ?? '').toLowerCase()}`, begin);
    const final = close === -1 ? lower.indexOf('<final>', begin) : close;
    const end = final === -1 ? text.length : final;
    found.push(text.slice(begin, end));
    from = end;
  }
}
