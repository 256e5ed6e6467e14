// Durations as people write them: `"30m"`, `"1h30m"`, `"500ms"`. Pure; used by the configuration and by the command line.

const UNIT_MS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d|w)/g;

/**
 * Milliseconds of a text such as `"30m"` or `"1h30m"` (units ms, s, m, h, d, w; blanks between parts and upper case allowed), rounded to
 * a whole number; undefined when it is not one. A bare number is not a duration: its unit would be a guess.
 */
export function parseDuration(text: string): number | undefined {
  const compact = text.trim().toLowerCase().replaceAll(/\s+/g, '');
  if (compact.length > 40 || !WHOLE.test(compact)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of compact.matchAll(PART)) {
    totalMs += Number(amount) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
  }
  return Number.isFinite(totalMs) ? Math.round(totalMs) : undefined;
}

/** A duration for people: the two largest units, without one that is zero, such as `1h 30m`, `24d`, `12.3s` or `850ms`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${Math.floor(ms / 100) / 10}s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return twoUnits(minutes, 'm', Math.floor((ms % 60_000) / 1000), 's');
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? twoUnits(hours, 'h', minutes % 60, 'm') : twoUnits(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit} ${small}${smallUnit}`;
}
