// Money and counts as people read them.

const MICROS = 1_000_000;

/** The smallest cost that four decimals show. */
const SHOWN_MICROS_MIN = 100;

/** `<$0.0001`, `$0.0042`, `$12.50`; `no price` for a cost that is not known. */
export function dollarsText(micros: number | null): string {
  if (micros === null) return 'no price';
  const dollars = micros / MICROS;
  if (dollars === 0) return '$0';
  if (micros > 0 && micros < SHOWN_MICROS_MIN) return '<$0.0001';
  if (dollars < 0.01) return `$${dollars.toFixed(4)}`;
  return `$${dollars.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** For a column: all amounts with four decimals, so that they can be compared by eye. */
export function columnDollarsText(micros: number | null): string {
  const isShown = micros === null || (micros !== 0 && micros < SHOWN_MICROS_MIN);
  return isShown ? dollarsText(micros) : `$${(micros / MICROS).toLocaleString('en-US', FOUR_DECIMALS)}`;
}

const FOUR_DECIMALS = { minimumFractionDigits: 4, maximumFractionDigits: 4 } as const;

/** Dollars as micro-dollars; null stays null. */
export function microsOf(usd: number | null): number | null {
  return usd === null ? null : Math.round(usd * MICROS);
}

/** The same for an amount in dollars. */
export function usdText(usd: number | null): string {
  return dollarsText(microsOf(usd));
}

/** `950`, `12.3k`, `4.1M`. */
export function countText(count: number): string {
  if (count < 10_000) return count.toLocaleString('en-US');
  if (count < MICROS) return `${(count / 1_000).toFixed(1)}k`;
  return `${(count / MICROS).toFixed(1)}M`;
}

/** `512 kB`, `186 MB`, `1.2 GB`. */
export function bytesText(bytes: number): string {
  if (bytes < MICROS) return `${Math.round(bytes / 1_000)} kB`;
  return bytes < 1_000 * MICROS ? `${Math.round(bytes / MICROS)} MB` : `${(bytes / 1_000 / MICROS).toFixed(1)} GB`;
}

/** `1 turn`, `12.3k turns`, `2 deliveries`. */
export function namedCountText(count: number, one: string): string {
  return `${countText(count)} ${count === 1 ? one : one.endsWith('y') ? `${one.slice(0, -1)}ies` : `${one}s`}`;
}

export function percentText(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${Math.round((part / whole) * 100)} %`;
}

export function columnUsdText(usd: number | null): string {
  return columnDollarsText(microsOf(usd));
}
