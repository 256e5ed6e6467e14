// Medians and percentiles of measured times.

/** The value below which this part of the values lies (nearest rank); throws for an empty list. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  if (value === undefined) throw new Error('no values to take a quantile of');
  return value;
}

/** The middle value. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The median of a value of each item. */
export function medianOf<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return median(items.map(valueOf));
}
