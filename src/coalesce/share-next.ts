// Lets callers that want the same answer share it, but never an answer whose work began before they called: what a caller knows to have
// happened is in its answer. For callers that each bring a row of their own, see `one-in-flight.ts`.

/** The run in flight, and the one that the callers since then share; it begins when that one has ended. */
interface Line<Value> {
  running: Promise<Value> | null;
  next: Promise<Value> | null;
}

/**
 * Makes `run` run once at a time per key. Callers that come while it runs share the next run, which gets the input of the first of
 * them; so do callers of the same tick of the event loop. A failed run rejects its own callers alone. Absent `keyOf`: one key.
 */
export function shareNext<Value, Input = void>(
  run: (input: Input) => Promise<Value>,
  keyOf: (input: Input) => string = () => '',
): (input: Input) => Promise<Value> {
  // Only keys that are in use.
  const lines = new Map<string, Line<Value>>();

  async function runAfter(
    running: Promise<Value> | null,
    line: Line<Value>,
    key: string,
    input: Input,
  ): Promise<Value> {
    await Promise.allSettled([running]);
    line.running = line.next;
    line.next = null;
    try {
      return await run(input);
    } finally {
      if (line.next === null) lines.delete(key);
    }
  }

  return (input) => {
    const key = keyOf(input);
    const line = lines.get(key) ?? { running: null, next: null };
    lines.set(key, line);
    return (line.next ??= runAfter(line.running, line, key, input));
  };
}
