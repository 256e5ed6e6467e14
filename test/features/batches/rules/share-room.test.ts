import { expect, test } from 'vitest';
import { shareRoom } from '../../../../src/features/batches/rules/share-room.ts';

const bounds = { itemsPerWeight: 8, itemsMax: 32, roundMax: 100 };

test('a batch alone is fed in statements as large as they may be', () => {
  expect(shareRoom([{ id: 'a', weight: 1, room: 40 }], bounds)).toEqual([
    { id: 'a', items: 32 },
    { id: 'a', items: 8 },
  ]);
});

test('a small batch beside a large one is fed in the first turn, and weights decide how much', () => {
  const helpings = shareRoom(
    [
      { id: 'large', weight: 1, room: 10_000 },
      { id: 'small', weight: 2, room: 10 },
    ],
    bounds,
  );
  expect(helpings.slice(0, 2)).toEqual([
    { id: 'large', items: 8 },
    { id: 'small', items: 10 },
  ]);
  expect(helpings.reduce((sum, { items }) => sum + items, 0)).toBeLessThanOrEqual(100 + 8);
});
