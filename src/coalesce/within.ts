// A bound on the time of a promise.

/** The value of the promise, or a rejection with `late()` when it takes longer. The work behind the promise is not stopped. */
export async function within<Value>(timeoutMs: number, promise: Promise<Value>, late: () => Error): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), timeoutMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
