// Resources that the tests of a file or group share because they take long to start, such as a
// database and the processes on it.
import { afterAll, beforeAll } from 'vitest';

/**
 * `make` registers here how each thing that it has started is closed; the last one registered is
 * closed first.
 */
type OnEnd = (close: () => unknown) => void;

/**
 * Calls `make` before the first test of a file or group, and closes what it registered after the
 * last one, also when it failed midway.
 */
export function shareAmongTests(make: (onEnd: OnEnd) => Promise<void>, withinMs?: number): void {
  const closers: (() => unknown)[] = [];
  beforeAll(() => make((close) => void closers.push(close)), withinMs);
  afterAll(async () => {
    for (const close of closers.toReversed()) await close();
  }, withinMs);
}
