// About how many messages wait in all sessions together: exact enough to refuse more before there are far too many (G27). While messages
// arrive, they are counted once a second.
import { countWaiting } from '../store/views/stats.ts';
import type { ViewDatabase } from '../store/views/page.ts';

const COUNTED_EVERY_MS = 1_000;

export interface WaitingTotal {
  /** The last count and the messages added since. */
  total(): number;
  add(messages: number): void;
}

export function createWaitingTotal(views: ViewDatabase): WaitingTotal {
  let total = 0;
  let countedAt = Number.NEGATIVE_INFINITY;
  function countAgain(): void {
    countedAt = performance.now();
    countWaiting(views).then(
      (count) => (total = count),
      // The database is unavailable: the statement that stores something reports that.
      () => undefined,
    );
  }
  return {
    total() {
      if (performance.now() - countedAt >= COUNTED_EVERY_MS) countAgain();
      return total;
    },
    add(messages) {
      total += messages;
    },
  };
}
