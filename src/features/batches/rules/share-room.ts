// Which batches are fed next: weighted round robin over those that have items to feed, so that a
// small batch does not wait for a large one.

export interface FeedingBatch {
  id: string;
  weight: number;
  /** How many of its items may be fed now. */
  room: number;
}

/** One statement of the feeder. */
export interface Helping {
  id: string;
  items: number;
}

/**
 * The helpings of a round, in their order: in each turn every batch with room gets `weight` items
 * times `itemsPerWeight`, and at most `itemsMax` in one helping.
 */
export function shareRoom(
  batches: readonly FeedingBatch[],
  { itemsPerWeight, itemsMax, roundMax }: { itemsPerWeight: number; itemsMax: number; roundMax: number },
): Helping[] {
  const left = new Map(batches.map(({ id, room }) => [id, room]));
  const helpings: Helping[] = [];
  let total = 0;
  let isFed = true;
  while (isFed && total < roundMax) {
    isFed = false;
    for (const { id, weight } of batches) {
      const items = Math.min(left.get(id) ?? 0, Math.max(1, weight * itemsPerWeight), itemsMax);
      if (items <= 0) continue;
      const last = helpings.at(-1);
      // One statement for what follows each other.
      if (last?.id === id && last.items + items <= itemsMax) last.items += items;
      else helpings.push({ id, items });
      left.set(id, (left.get(id) ?? 0) - items);
      total += items;
      isFed = true;
    }
  }
  return helpings;
}
