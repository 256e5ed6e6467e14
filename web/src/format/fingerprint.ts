// What messages of one fault have in common: their words, without ids, numbers and quoted names.

const VARIES = /[\da-f]{8}-[\da-f-]{27}|"[^"]*"|'[^']*'|`[^`]*`|\b[\da-f]{6,}\b|\d+(?:[.,:]\d+)*/gi;

/** The same for all messages of one fault. */
export const fingerprintOf = (message: string): string => message.replaceAll(VARIES, '…').trim();

/** Things with messages, by what these have in common: the largest group first. */
export function clustersOf<Item>(items: readonly Item[], messageOf: (item: Item) => string): Item[][] {
  return [...Map.groupBy(items, (item) => fingerprintOf(messageOf(item))).values()].toSorted(
    (one, other) => other.length - one.length,
  );
}
