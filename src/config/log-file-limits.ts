// How many log files are kept: HOLDFAST_LOG_FILES.

/** How many files are kept, and how large one becomes. */
export interface LogFileLimits {
  count: number;
  bytes: number;
}

/** What HOLDFAST_LOG_FILES may be. */
export const LOG_FILES = /^(?:off|([1-9]\d{0,3})x([1-9]\d{0,5})(kB|MB|GB))$/;
const UNITS = { kB: 1_000, MB: 1_000_000, GB: 1_000_000_000 };

/** Of `10x10MB`; null: none are written (`off`). */
export function parseLogFiles(text: string): LogFileLimits | null {
  const [, count, size, unit] = LOG_FILES.exec(text) ?? [];
  if (unit === undefined) return null;
  return { count: Number(count), bytes: Number(size) * UNITS[unit as keyof typeof UNITS] };
}
