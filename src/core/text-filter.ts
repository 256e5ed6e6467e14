// A filter for a text that arrives in pieces. The joined output is the same for any split: uncertain text is held back.

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
