// Reads how long a server asks to wait, from the headers of its answer: a provider, a receiver of
// webhooks.

/**
 * A longer wait is a mistake of the server (epoch seconds, a date in another century): it counts as
 * absent.
 */
export const RETRY_AFTER_MS_MAX = 31 * 86_400_000;

/**
 * The two forms of a date that servers send: `Thu, 01 Jan 2026 00:00:30 GMT` and
 * `2026-01-01T00:00:30Z`.
 */
const DATE = /^(?:[A-Z][a-z]{2,8}, .{1,30} GMT|\d{4}-\d{2}-\d{2}T[\d:.]{5,20}Z)$/;

/**
 * The wait in milliseconds that `retry-after-ms` or `retry-after` (seconds, or a date seen from
 * `nowMs`) asks for; null when neither says anything plausible. A date in the past is a wait of 0.
 * The caller caps it: it knows how long it can wait.
 */
export function readRetryAfter(headers: { get(name: string): string | null }, nowMs: number): number | null {
  const header = headers.get('retry-after')?.trim() ?? '';
  const seconds = parseNumber(header);
  const atMs = DATE.test(header) ? Date.parse(header) : null;
  const waits = [
    parseNumber(headers.get('retry-after-ms')?.trim() ?? ''),
    seconds === null ? null : seconds * 1000,
    atMs === null ? null : Math.max(0, atMs - nowMs),
  ];
  // False for NaN, too.
  const waitMs = waits.find((ms): ms is number => ms !== null && ms <= RETRY_AFTER_MS_MAX);
  return waitMs === undefined ? null : Math.ceil(waitMs);
}

/** A header that is a number of zero or more and nothing else. */
function parseNumber(header: string): number | null {
  return /^\d+(?:\.\d+)?$/.test(header) ? Number(header) : null;
}
