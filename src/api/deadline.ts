// No request hangs: a request over its deadline is answered 503, whatever the result of its work.
import { Problem } from './problem.ts';

/** The result of `work`, or a 503 problem after `ms`. The work itself continues; its late result is ignored. */
export async function withDeadline<Result>(work: Promise<Result>, ms: number, detail: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Problem('timeout', detail, { retryAfterMs: 1000 })), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
