// No request hangs: a request that exceeds its deadline is answered 503, even if its work is still running.
import { withDeadline } from '../deadline.ts';
import { Problem } from './problem.ts';

/** The result of `work`, or a 503 problem after `ms`. The work itself continues; its late result is ignored. */
export function answerWithin<Result>(work: Promise<Result>, ms: number, detail: string): Promise<Result> {
  return withDeadline({ ms, late: () => new Problem('timeout', detail, { retryAfterMs: 1000 }) }, () => work);
}
