import { expect, test } from 'vitest';
import { shareFor } from '../../src/coalesce.ts';

test('callers share an answer until it is too old, and one that is on its way', async () => {
  let now = 0;
  let runs = 0;
  const read = shareFor(
    1_000,
    async () => (runs += 1),
    () => now,
  );
  expect(await Promise.all([read(), read()])).toEqual([1, 1]);
  now = 999;
  expect(await read()).toBe(1);
  now = 1_000;
  expect(await read()).toBe(2);
});

test('a failed answer is not kept', async () => {
  let runs = 0;
  const read = shareFor(
    1_000,
    async () => {
      runs += 1;
      if (runs === 1) throw new Error('away');
      return runs;
    },
    () => 0,
  );
  await expect(read()).rejects.toThrow('away');
  expect(await read()).toBe(2);
});
