import { expect, test } from 'vitest';
import { newId } from '../src/ids.ts';

test('ids are UUIDv7, never repeat and always grow within a process', () => {
  const ids = Array.from({ length: 100_000 }, () => newId<string>());
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? ''))).toBe(true);
  expect(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toBe(
    true,
  );
});
