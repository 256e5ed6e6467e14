// Lets callers share an answer for a time, for figures that many ask for again and again and that may be a little old. For answers that must
// not be older than the call, see `share-next.ts`.

/** What callers share, until it is too old. */
interface SharedAnswer<Value> {
  at: number;
  value: Promise<Value>;
}

/** Makes `run` run at most once per `ms` milliseconds. A failed run is shared by the callers that waited for it, and not kept. */
export function shareFor<Value>(ms: number, run: () => Promise<Value>, nowMs: () => number): () => Promise<Value> {
  let kept: SharedAnswer<Value> | null = null;
  let running: Promise<Value> | null = null;

  async function runNow(): Promise<Value> {
    try {
      return await run();
    } catch (error) {
      kept = null;
      throw error;
    } finally {
      running = null;
    }
  }

  return () => {
    if (running !== null) return running;
    if (kept !== null && nowMs() - kept.at < ms) return kept.value;
    running = runNow();
    kept = { at: nowMs(), value: running };
    return running;
  };
}
