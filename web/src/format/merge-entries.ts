// How the newest page of a transcript, which is read again and again, joins the pages that were
// read before.

interface Numbered {
  seq: number;
}

interface NumberedPage<Item extends Numbered> {
  items: Item[];
  nextCursor: string | null;
}

/**
 * The entries of the pages with those of the newest page in place of what it covers, all newest
 * first; null: more has happened than the newest page has room for, so it does not reach the pages.
 */
export function withNewest<Item extends Numbered>(
  pages: readonly NumberedPage<Item>[],
  newest: NumberedPage<Item>,
): Item[] | null {
  const known = pages.flatMap(({ items }) => items);
  const [first, last] = [newest.items[0], newest.items.at(-1)];
  // The newest page is the whole transcript, or the pages were read later.
  if (first === undefined || last === undefined || newest.nextCursor === null) return newest.items;
  if (known[0] === undefined || known[0].seq > first.seq) return known;
  if (known[0].seq < last.seq) return null;
  return [...newest.items, ...known.filter(({ seq }) => seq < last.seq)];
}
