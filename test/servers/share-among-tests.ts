// What the tests of a file share because it takes long to make, such as a database and what stands on it. A test that is tried again
// gets all of it anew: the try that failed may have left anything behind, from rows to turns that still run.
import { afterAll, beforeAll, beforeEach } from 'vitest';

/** What has been made says here how it is closed; the youngest goes first. */
type OnEnd = (close: () => unknown) => void;

/**
 * Calls `make` before the first test of a file or group, and before each test that is tried again. It is closed after the last test;
 * what a failed try has left is closed beside the next try, and nobody waits for that. Not for tests that run beside each other.
 */
export function shareAmongTests(make: (onEnd: OnEnd) => Promise<void>, withinMs?: number): void {
  let closers: (() => unknown)[] = [];
  const begin = (): Promise<void> => make((close) => void closers.push(close));
  beforeAll(begin, withinMs);
  beforeEach(async ({ task }) => {
    const { retryCount = 0, repeatCount = 0 } = task.result ?? {};
    if (retryCount + repeatCount === 0) return;
    const left = closers;
    closers = [];
    // How it ends says nothing about the test: that has failed already.
    closeAll(left).catch(() => undefined);
    await begin();
  }, withinMs);
  afterAll(() => closeAll(closers), withinMs);
}

async function closeAll(closers: (() => unknown)[]): Promise<void> {
  for (const close of closers.toReversed()) await close();
}
