// The thinking level that a message asks for with its first word. Only the word itself is cut; everything after it stays as it
// was written, line breaks included.

/** All levels, from none to the model's own choice. */
export const THINKING_LEVELS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'adaptive'] as const;

export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

/** The level that a word names, in any case; null when it is none. */
export function parseThinkingLevel(word: string): ThinkingLevel | null {
  return THINKING_LEVELS.find((level) => level === word.trim().toLowerCase()) ?? null;
}

const DIRECTIVE = /^\s*(low|medium|high|xhigh)(?:[^\S\n]+\n?|\n)(?=[^])/i;

/**
 * The level named by the first word of a body, and the body without that word and the spaces after it. `level` is null, and
 * the body unchanged, when the first word is none of the four levels or when nothing follows it: a body that is only such a
 * word is an answer.
 */
export function takeThinkingDirective(body: string): { level: ThinkingLevel | null; body: string } {
  const match = DIRECTIVE.exec(body);
  const rest = match === null ? '' : body.slice(match[0].length);
  if (match === null || rest.trim() === '') return { level: null, body };
  // The pattern matches only these four words.
  return { level: match[1]?.toLowerCase() as ThinkingLevel, body: rest };
}
