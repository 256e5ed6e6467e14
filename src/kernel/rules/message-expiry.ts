// When messages expire. A message may set `expiresAt`; without it, it never expires.

interface Input {
  body: unknown;
}

/** When the last of these inputs expires, in epoch milliseconds; null when one of them never does, or there are none. */
export function lastExpiry(inputs: readonly Input[]): number | null {
  const times = inputs.map(readExpiry);
  return times.length === 0 || times.includes(null) ? null : Math.max(...times.map((time) => time ?? 0));
}

/**
 * The first of these inputs that have all expired, or all have not: an expired message shares no turn with one that is to be answered, so
 * that it ends by itself.
 */
export function inputsWithEqualExpiry<One extends Input>(inputs: readonly One[], nowMs: number): One[] {
  const isExpired = (input: One): boolean => (readExpiry(input) ?? Number.POSITIVE_INFINITY) <= nowMs;
  const [first] = inputs;
  if (first === undefined) return [];
  const end = inputs.findIndex((input) => isExpired(input) !== isExpired(first));
  return end === -1 ? [...inputs] : inputs.slice(0, end);
}

function readExpiry({ body }: Input): number | null {
  const { expiresAt } = (body ?? {}) as { expiresAt?: unknown };
  return typeof expiresAt === 'number' ? expiresAt : null;
}
