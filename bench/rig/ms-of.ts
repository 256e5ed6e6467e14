// How long work takes.

/** In milliseconds, from the call to the end of its promise. */
export async function msOf(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}
