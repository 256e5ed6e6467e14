// A deadline around foreign code. What the code does after the deadline cannot be stopped, only ignored: its signal is aborted.
import { HookTimeoutError } from './plugin-error.ts';

/** What `run` resolves with; rejects with `HookTimeoutError` when that takes longer than `timeoutMs`. The signal aborts then. */
export async function withDeadline<Result>(
  timeoutMs: number,
  run: (signal: AbortSignal) => Result | Promise<Result>,
): Promise<Result> {
  const abort = new AbortController();
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new HookTimeoutError(timeoutMs);
    abort.abort(error);
    timeout.reject(error);
  }, timeoutMs);
  // A throw before the first await is a rejection, too.
  const running = (async () => await run(abort.signal))();
  try {
    return await Promise.race([running, timeout.promise]);
  } finally {
    clearTimeout(timer);
    // Its later result is ignored.
    running.catch(() => undefined);
    timeout.promise.catch(() => undefined);
  }
}
