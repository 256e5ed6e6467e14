// A prompt as the parts that it is put together from: whose words each is, and whether they may be
// trusted. The text that the model is sent is the parts joined; the position of each is kept with
// it, so that it need not be guessed later. A marker separates what stays the same from turn to
// turn from what may change.
/**
 * `trusted`: Holdfast, the configuration or a plugin wrote it. `untrusted`: it came from outside,
 * including the frame around it.
 */
export type Trust = 'trusted' | 'untrusted';

/** Whose words a part of a prompt holds; a plugin is named. */
export type PartOrigin = 'holdfast' | 'configuration' | 'sender' | 'channel' | `plugin:${string}`;

export interface PromptPart {
  /** Its kind: `system-event`, `body`. Several parts can have the same name. */
  name: string;
  origin: PartOrigin;
  trust: Trust;
  /** Not empty. */
  text: string;
  /** True when only a line break, and no blank line, separates it from the part before. */
  isTight?: boolean;
}

/** The position of a part in the text: `[start, end)` in UTF-16 units. */
export interface PartSpan {
  name: string;
  origin: PartOrigin;
  trust: Trust;
  start: number;
  end: number;
}

/** The original text without additions: not in the prompt, stored for people to read. */
export interface CleanBody {
  name: 'clean-body';
  text: string;
}

/**
 * The text of the parts in their order, and where each of them stands. A code fence that untrusted
 * text leaves open is closed after it, so that what follows is not read as its code.
 */
export function joinParts(parts: readonly PromptPart[]): { text: string; spans: PartSpan[] } {
  let text = '';
  let openFence: string | null = null;
  const spans = parts.map(({ name, origin, trust, text: own, isTight }) => {
    if (openFence !== null) text += `\n${openFence}`;
    if (text !== '') text += isTight === true ? '\n' : '\n\n';
    const start = text.length;
    text += own;
    openFence = trust === 'untrusted' ? findClosingFence(own) : null;
    return { name, origin, trust, start, end: text.length };
  });
  return { text, spans };
}

/** A part in Holdfast's own words. */
export function ownPart(name: string, text: string): PromptPart {
  return { name, origin: 'holdfast', trust: 'trusted', text };
}

/** The parts, the first of them directly after the preceding text. */
export function tighten(parts: readonly PromptPart[]): PromptPart[] {
  return parts.map((part, index) => (index === 0 ? { ...part, isTight: true } : part));
}

/** The parts, the first of them after a blank line. */
export function loosen(parts: readonly PromptPart[]): PromptPart[] {
  return parts.map((part, index) => (index === 0 ? { ...part, isTight: false } : part));
}

/**
 * A line that may open or close a fence: at most three spaces, three marks or more, and the rest of
 * the line.
 */
const FENCE_LINE = /^ {0,3}(`{3,}|~{3,})(.*)$/gm;

/** The line that closes the fence which a text leaves open; null when none is open. */
export function findClosingFence(text: string): string | null {
  if (!text.includes('```') && !text.includes('~~~')) return null;
  let open: string | null = null;
  for (const [, marks = '', after = ''] of text.matchAll(FENCE_LINE)) {
    if (open === null) {
      // Backticks after backticks are inline code.
      if (marks.startsWith('~') || !after.includes('`')) open = marks;
    } else if (marks.startsWith(open) && after.trim() === '') open = null;
  }
  return open;
}

// The line between what stays the same from turn to turn and what may change. Inside Holdfast the
// two halves are two values; the marker is used only where a whole prompt must be one text, and
// never reaches a provider.

export const CACHE_BOUNDARY = '--- SYSTEM PROMPT CACHE BOUNDARY ---';

export interface SystemPrompt {
  /** Above the boundary: byte for byte the same in every turn of a session. */
  stable: string;
  /** Below it; may be empty. */
  dynamic: string;
}

/** Splits a text at the first marker; without one, all of it is stable. */
export function splitAtBoundary(text: string): SystemPrompt {
  const at = text.indexOf(CACHE_BOUNDARY);
  if (at < 0) return { stable: text.trimEnd(), dynamic: '' };
  return {
    stable: text.slice(0, at).trimEnd(),
    dynamic: withoutBoundary(text.slice(at + CACHE_BOUNDARY.length)).trimStart(),
  };
}

/** A text of a file without any marker: a marker in it would move the boundary. */
export function withoutBoundary(text: string): string {
  // Taking one out can join the halves of another.
  let rest = text;
  while (rest.includes(CACHE_BOUNDARY)) rest = rest.replaceAll(CACHE_BOUNDARY, '');
  return rest;
}
