// A quantile of measured values.

/** The smallest value that at least this share (over 0, at most 1) of the values does not exceed; undefined: there are none. */
export function quantile(values: readonly number[], share: number): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1];
}
