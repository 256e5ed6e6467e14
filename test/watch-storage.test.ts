import { expect, test } from 'vitest';
import { watchStorage } from '../src/database/watch-storage.ts';

test('a full disk is known for ten seconds after the last refused write, whatever else fails meanwhile (G23)', () => {
  const clock = { nowMs: 0 };
  const storage = watchStorage(() => clock.nowMs);
  storage.note(Object.assign(new Error('could not extend file'), { code: '53100' }));
  clock.nowMs = 5_000;
  for (const other of [
    new Error('the request took too long'),
    Object.assign(new Error('refused'), { code: '57P03' }),
    null,
  ])
    storage.note(other);
  clock.nowMs = 9_999;
  expect(() => storage.check()).toThrow('could not extend file');
  clock.nowMs = 10_000;
  expect(() => storage.check()).not.toThrow();
});
