// Simultaneous callers of the same expensive read share one answer, but never one that started before they called.

/** Makes `read` run once at a time; callers that come while it runs share the next run. */
export function coalesceReads<Result>(read: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<unknown> | undefined;
  let next: Promise<Result> | undefined;
  async function runAfter(previous: Promise<unknown> | undefined): Promise<Result> {
    await previous?.catch(() => undefined);
    running = next;
    next = undefined;
    return read();
  }
  return () => {
    next ??= runAfter(running);
    return next;
  };
}
