// A prompt for people: what was said, and what was put around it for the model, piece by piece.
import type { Entry } from '../api.ts';

type PromptPart = NonNullable<Entry['parts']>[number];

export interface PromptPiece {
  /** What was added, in words; null: what was said. */
  label: string | null;
  isTrusted: boolean;
  text: string;
}

/** Parts that hold what the sender, a cron, a poll or a subagent said. */
const SAID = new Set(['body', 'cron', 'heartbeat', 'compaction', 'announcement', 'announcement-result']);

/** Parts whose name would not explain them. */
const LABELS: Readonly<Record<string, string>> = {
  'media-note': 'media',
  'media-hint': 'media',
  'thread-note': 'thread',
  'queue-overflow': 'dropped messages',
  'untrusted-context': 'channel context',
};

/** What the first lines of `context` parts begin with. */
const CONTEXTS: readonly (readonly [start: string, label: string])[] = [
  ['Conversation info', 'message metadata'],
  ['Sender', 'sender metadata'],
  ['Replied message', 'replied message'],
  ['Forwarded message', 'forwarded message'],
  ['Chat history', 'chat history'],
];

/**
 * The pieces of a stretch of a prompt's text, which begins at `offset`; parts with the same label
 * that follow each other are one piece. What stands between two parts, such as the end of a code
 * fence, belongs to the one before, without the blank lines at its end.
 */
export function promptPieces(text: string, parts: readonly PromptPart[] | null, offset = 0): PromptPiece[] {
  const shown = (parts ?? []).filter(({ start, end }) => end > offset && start < offset + text.length);
  const labelled = shown.map((part) => ({
    ...part,
    label: labelOf(part, text.slice(Math.max(part.start - offset, 0))),
  }));
  const isFirst = ({ label }: { label: string | null }, at: number): boolean => label !== labelled[at - 1]?.label;
  const firsts = labelled.filter((part, at) => at === 0 || isFirst(part, at));
  if (firsts.length === 0) return [{ label: null, isTrusted: false, text }];
  return firsts.map(({ name, label, start }, at) => {
    const next = firsts[at + 1]?.start;
    const same = labelled.filter((part) => part.start >= start && (next === undefined || part.start < next));
    const own = text.slice(at === 0 ? 0 : start - offset, next === undefined ? text.length : next - offset);
    return {
      label: name === 'system-event' && same.length > 1 ? `${same.length} system events` : label,
      isTrusted: same.every(({ trust }) => trust === 'trusted'),
      text: next === undefined ? own : own.trimEnd(),
    };
  });
}

/** What a part is called; null: it was said. */
function labelOf({ name }: PromptPart, text: string): string | null {
  if (SAID.has(name)) return null;
  const label = name === 'context' ? CONTEXTS.find(([start]) => text.startsWith(start))?.[1] : LABELS[name];
  return label ?? name.replaceAll('-', ' ');
}
