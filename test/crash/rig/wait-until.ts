// Waits for a state that has no signal of its own, such as a row in a database, by polling with a
// bound.
import { setTimeout as delay } from 'node:timers/promises';

const pollMs = 30;

/**
 * Resolves with the first value that is neither null nor false; rejects, naming `what`, when the
 * time is over.
 */
export async function waitUntil<Value>(
  what: string,
  withinMs: number,
  read: () => Value | Promise<Value>,
): Promise<Exclude<Value, null | false>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await read();
    if (value !== null && value !== false) return value as Exclude<Value, null | false>;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${withinMs} ms`);
    await delay(pollMs);
  }
}
