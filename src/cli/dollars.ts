// Costs in a terminal.

/** Dollars with six decimals, so that no micro-dollar is hidden; a cost that is not known has a word. */
export function dollarsText(costUsd: number | null): string {
  return costUsd === null ? 'unknown' : `$${costUsd.toFixed(6)}`;
}
