// A deadline around foreign code. What it does after the deadline cannot be stopped, only disregarded: it is told by its signal.
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
    // Whatever happens to it now is nobody's business any more.
    running.catch(() => undefined);
    timeout.promise.catch(() => undefined);
  }
}
