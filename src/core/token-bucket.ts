// The token bucket, which limits a rate: a bucket holds up to `size`, each request takes one, and
// one comes back every `refillMs`. So a client may send `size` requests at once, and then as many
// as come back. A request that is refused takes nothing.

export interface Rate {
  /** At least 1. */
  size: number;
  refillMs: number;
}

/** A bucket as it was at a time; times only grow. */
export interface Bucket {
  left: number;
  atMs: number;
}

/** A rate in which a minute's requests may come together. */
export function perMinute(requests: number): Rate {
  return { size: requests, refillMs: 60_000 / requests };
}

/**
 * Takes one from a bucket; undefined: it is full. `waitMs` is 0 when there was one, otherwise the
 * time until there is.
 */
export function takeOne(
  bucket: Bucket | undefined,
  { size, refillMs }: Rate,
  nowMs: number,
): { bucket: Bucket; waitMs: number } {
  const { left, atMs } = bucket ?? { left: size, atMs: nowMs };
  const now = Math.min(size, left + (nowMs - atMs) / refillMs);
  // The refill is computed with a rounding error; without the tolerance, a client that waits for
  // exactly `waitMs` could be refused.
  if (now + TINY >= 1) return { bucket: { left: Math.max(0, now - 1), atMs: nowMs }, waitMs: 0 };
  return { bucket: { left: now, atMs: nowMs }, waitMs: (1 - now) * refillMs };
}

const TINY = 1e-6;
