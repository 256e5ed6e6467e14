// Matching and filtering text: a filter for a text that arrives in pieces, and names with wildcards. The joined output of a filter is the same for any
// split: uncertain text is held back.

/** Takes a text in pieces. */
export interface TextFilter {
  /** The next piece; returns the text that is certain by now. */
  push(piece: string): string;
  /** The text has ended; returns the rest. */
  end(): string;
}

/** The output of a new filter for a whole text. */
export function filterWhole(filter: TextFilter, text: string): string {
  return filter.push(text) + filter.end();
}

/** One filter after the other. */
export function chainFilters(filters: readonly TextFilter[]): TextFilter {
  return {
    push: (piece) => filters.reduce((text, filter) => filter.push(text), piece),
    end: () => filters.reduce((text, filter) => filter.push(text) + filter.end(), ''),
  };
}

/**
 * True when `name` matches a pattern in which `*` stands for any text, also for none. Letter case matters: fold both where it should not.
 * Takes time in proportion to the length of the name for each `*`.
 */
export function matchesPattern(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (!name.startsWith(first)) return false;
  const last = rest.pop();
  if (last === undefined) return name === first;
  let from = first.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}
