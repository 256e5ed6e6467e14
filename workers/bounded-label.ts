// Bounds the number of values of a label, so that a scrape stays small however many models, tools and codes there are.

/** The most values of one label in a process; the rest is `other`. */
export const LABEL_VALUES_MAX = 100;

/** Makes a function that returns its text while there are at most so many of them, and `other` for any further one. */
export function createBoundedLabel(valuesMax = LABEL_VALUES_MAX): (text: string) => string {
  const known = new Set<string>();
  return (text) => {
    if (known.size < valuesMax) known.add(text);
    return known.has(text) ? text : 'other';
  };
}
