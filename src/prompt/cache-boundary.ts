// The line between what stays the same from turn to turn and what may change. Inside Holdfast the two halves are two values; the
// marker is used only where a whole prompt must be one text, and never reaches a provider.

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
