// Shared reads under random interleavings of callers and answers.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { shareNext } from '../../src/coalesce.ts';

interface Caller {
  key: string;
  /** How many runs of the key had begun when it called. */
  begunBefore: number;
  /** The number of the run whose answer it got, per key from 1. */
  answer: number;
  hasFailed: boolean;
}

const keys = fc.array(fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 4 }), { maxLength: 8 });
const failures = fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 4 });

test('a caller gets the answer of the first run that begins after it called', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), keys, failures, async (answers, groups, failing) => {
      const { callers } = await play(answers, groups, failing);
      expect(callers).toHaveLength(groups.flat().length);
      for (const { begunBefore, answer, hasFailed } of callers) {
        expect(answer).toBe(begunBefore + 1);
        expect(hasFailed).toBe(failing.includes(answer));
      }
    }),
  );
});

test('one run of a key is in flight at a time, and no run has no caller', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), keys, failures, async (answers, groups, failing) => {
      const { callers, runs, inFlightMax } = await play(answers, groups, failing);
      expect(inFlightMax).toBeLessThanOrEqual(1);
      for (const [key, count] of runs) {
        const answered = new Set(callers.filter((caller) => caller.key === key).map(({ answer }) => answer));
        expect(answered.size).toBe(count);
      }
    }),
  );
});

test('callers of one tick share one run, and keys do not wait for each other', async () => {
  const gates = { a: Promise.withResolvers<string>(), b: Promise.withResolvers<string>() };
  const read = shareNext(
    (key: 'a' | 'b') => gates[key].promise,
    (key) => key,
  );
  const first = [read('a'), read('a')];
  const other = read('b');
  gates.b.resolve('of b');
  expect(await other).toBe('of b');
  gates.a.resolve('of a');
  expect(await Promise.all(first)).toEqual(['of a', 'of a']);
  expect(first[0]).toBe(first[1]);
});

test('without a key all callers share', async () => {
  let runs = 0;
  const read = shareNext(async () => (runs += 1));
  expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1]);
  expect(await read()).toBe(2);
});

/**
 * Calls and answers in the order that the scheduler draws; callers of one group call in the same
 * tick.
 */
async function play(answers: fc.Scheduler, groups: string[][], failing: number[]) {
  const runs = new Map<string, number>();
  const inFlight = new Map<string, number>();
  let inFlightMax = 0;
  const read = shareNext(
    async (key: string) => {
      const run = (runs.get(key) ?? 0) + 1;
      runs.set(key, run);
      const now = (inFlight.get(key) ?? 0) + 1;
      inFlight.set(key, now);
      inFlightMax = Math.max(inFlightMax, now);
      await answers.schedule(Promise.resolve());
      inFlight.set(key, now - 1);
      if (failing.includes(run)) throw new Error(String(run));
      return run;
    },
    (key) => key,
  );
  const callers: Promise<Caller>[] = [];
  for (const group of groups) {
    void answers.schedule(Promise.resolve()).then(() => {
      for (const key of group) {
        const begunBefore = runs.get(key) ?? 0;
        const caller = read(key).then(
          (answer) => ({ key, begunBefore, answer, hasFailed: false }),
          (error: Error) => ({ key, begunBefore, answer: Number(error.message), hasFailed: true }),
        );
        callers.push(caller);
      }
    });
  }
  await answers.waitIdle();
  return { callers: await Promise.all(callers), runs, inFlightMax };
}
