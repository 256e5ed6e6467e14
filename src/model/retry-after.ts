// Reads how long a provider asks to wait, from the headers of its answer.

/**
 * The wait in milliseconds that `retry-after-ms` or `retry-after` (seconds, or an HTTP date seen from `nowMs`) asks for; null
 * when neither says anything that can be understood. A date in the past is a wait of 0.
 */
export function retryAfterMsOf(headers: { get(name: string): string | null }, nowMs: number): number | null {
  const inMs = numberOf(headers.get('retry-after-ms'));
  if (inMs !== null) return Math.ceil(inMs);
  const header = headers.get('retry-after');
  const inSeconds = numberOf(header);
  if (inSeconds !== null) return Math.ceil(inSeconds * 1000);
  const atMs = header === null ? Number.NaN : Date.parse(header);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}

/** A header that is a number of zero or more and nothing else. */
function numberOf(header: string | null): number | null {
  if (header === null || header.trim() === '') return null;
  const value = Number(header);
  return Number.isFinite(value) && value >= 0 ? value : null;
}
